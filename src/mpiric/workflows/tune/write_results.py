"""Results of a tune: changed settings, recipe, and report page."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path
from statistics import median, median_low

from mpiric import __version__, knobs, mpis
from mpiric.host.host import Host
from mpiric.host.owned_files import write_text, write_whole
from mpiric.lab.failures import RejectedRun
from mpiric.lab.render import as_variables, render
from mpiric.model.amount import show_duration
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, writing
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.knob import worst_effect
from mpiric.model.quoting import comment, parameter_value, sh_command, sh_word, tcl_word, variable_name
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.model.situation import Situation
from mpiric.model.tuned import BestSoFar, Rejected, Timing, Tuned
from mpiric.plans.search import best_so_far
from mpiric.report.json_objects import tuned_json
from mpiric.report.tuned_html import tuned_html
from mpiric.report.tuned_text import interval
from mpiric.tuning.mark_split import paired_splits, split_gain
from mpiric.tuning.objective import shown
from mpiric.tuning.store import default_store
from mpiric.workflows.trials.recorded_runs import after_runs
from mpiric.workflows.tune.check_answer import (
    file_times,
    hints_of,
    ignored_hints,
    with_afterwards,
    written_outside,
)
from mpiric.workflows.tune.find_candidates import core_hours
from mpiric.workflows.tune.save_recipe import changes_of, export_learned, marks_fields, save_recipe
from mpiric.workflows.tune.space import export_order
from mpiric.workflows.tune.state import TuneRequest, TuneState

_REJECTED = (Outcome.DIFFERENT, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.GREEDY, Outcome.REFUSED)


def write_results(state: TuneState, host: Host, elapsed_s: float) -> Tuned:
    """Write recipe, page and site defaults, and close the log of a finished tune."""
    directory, situation, evidence = state.log.path, state.situation, _best(state.evidence)
    proved = evidence if evidence is not None and evidence.verdict is Verdict.FASTER else None
    configuration = proved.configuration if proved else Configuration()
    original, tuned = _timings(evidence, state)
    launch, launch_why = None, ""  # the command that needs no mpiric, or the reason why there is none
    try:
        launch = render(configuration, situation)
    except MpiricError as error:
        launch_why = error.message
    trials = state.log.read().trials
    in_space, tried = [dimension.knob for dimension in state.space.dimensions], _knobs_of(trials)
    # Knobs of which a run could be compared: its output agreed.
    judged = _knobs_of(
        trial for trial in trials if trial.outcome not in (Outcome.DIFFERENT, Outcome.INTERRUPTED)
    )
    machine = situation.machine
    cpu = f"{machine.cpu.model} ({machine.cpu.target})"
    split = split_gain(paired_splits(trials, evidence.configuration)) if evidence else None
    state.notes += [
        *state.lab.reliability.of_command,
        *filter(None, [state.lab.judge.uncompared]),
        *(_question(state, place, runs) for place, runs in state.lab.judge.disputes.in_question().items()),
        *ignored_hints(configuration, state),
        *state.copies.notes,
        *written_outside(
            situation.observation.behaviour,
            situation.job.environment,
            host,
            ends_at_mark=state.marks is not None,
        ),
    ]
    if state.request.site and proved:
        state.notes += write_site(directory, configuration, situation, proved)
    at_marks = marks_fields(state, trials, original, tuned)  # adds notes
    recipe = save_recipe(state, proved, split, host) if proved else ""  # a failure is reported by a note
    best_so_far = None if proved else _best_so_far(state, evidence)
    if state.shortfall and not proved and best_so_far is None:
        state.note(state.shortfall)
    result = Tuned(
        job=situation.job,
        mpi=situation.mpi,
        machine=f"{machine.host_name}: {machine.usable_cpu_count} CPUs, {cpu}",
        evidence=evidence,
        original=original,
        tuned=tuned,
        changes=changes_of(proved, situation, of_site=state.request.site) if proved else (),
        hints=hints_of(configuration, state),
        io=file_times(trials, configuration),
        files_effect=worst_effect(knobs.knob_named(name).files for name, _ in configuration.items),
        launch=launch,
        launch_why=launch_why,
        exports=(
            *export_learned(configuration, trials, directory, host),
            *export_order(configuration, situation, directory),
        ),
        resume_options=_resume_options(state.request, directory),
        objective=state.request.objective.text,
        maximise=state.request.objective.maximise,
        best_so_far=best_so_far,
        rejected=_rejected(state),
        findings=after_runs(state.findings, trials),
        tried=tuple(knob for knob in in_space if knob in tried),
        unjudged=tuple(knob for knob in in_space if knob in tried - judged),
        not_reached=tuple(knob for knob in in_space if knob not in tried),
        nothing_tried="" if tried.intersection(in_space) else _why_nothing_tried(state),
        cannot_matter=state.cannot_matter,
        runs=len(trials),
        core_hours=core_hours(trials, situation),
        elapsed_s=elapsed_s,
        around_runs_s=state.lab.around_runs_s,
        recipe=recipe,
        store=str(directory),
        interrupted=state.interrupted,
        notes=tuple(state.notes),
        **at_marks,
        split=split,
    )
    result = with_afterwards(result, state)
    page = tuned_html(result, trials, __version__)
    write_text(directory / "report.html", page, "name another directory with --store")
    if not state.interrupted:
        state.log.append("finished", {"result": tuned_json(result)})
    return result


def _question(state: TuneState, place: str, runs: Sequence[RejectedRun]) -> str:
    reasons = (state.rejected.get(run.trial.configuration, "") for run in runs)
    command = sh_command(state.request.argv)
    return (
        f"Is this a result of the program? {next(filter(None, reasons), place)}. {len(runs)} runs with other "
        "settings differ there from the command as it is, and were left out. If it is not a result: "
        f"mpiric tune --resume --ignore-lines REGEX -- {command}"
    )


def _rejected(state: TuneState) -> tuple[Rejected, ...]:
    """Return the rejected configurations, without cleared and disputed ones."""
    left_out = {trial.configuration for trial in state.lab.corrected if trial.outcome not in _REJECTED}
    disputed = state.lab.judge.disputes.in_question()
    left_out |= {run.trial.configuration for runs in disputed.values() for run in runs}
    return tuple(Rejected(what, why) for what, why in state.rejected.items() if what not in left_out)


def _best(evidence: Sequence[Evidence]) -> Evidence | None:
    """Return the evidence to report: proved faster with the highest lower bound, else the largest ratio."""
    faster = [candidate for candidate in evidence if candidate.verdict is Verdict.FASTER]
    if faster:
        return max(faster, key=lambda candidate: candidate.low)
    return max(
        (candidate for candidate in evidence if candidate.pairs),
        key=lambda candidate: candidate.ratio,
        default=None,
    )


def _timings(evidence: Evidence | None, state: TuneState) -> tuple[Timing, Timing | None]:
    """Return the medians of original and answer in the user's unit, from the pairs of the proof if any."""

    def timing(values: Sequence[float]) -> Timing:
        return Timing(shown(state.request.objective, median(values)), len(values))

    if evidence is None or not evidence.pairs:
        runs = [trial for trial in (*state.originals, *state.searched) if not trial.configuration]
        untouched = [trial for trial in runs if trial.phase is not Phase.RECORD]
        # Recorded runs count only without others. Of two the faster one: disturbances only slow a run.
        values = [trial.objective for trial in untouched or runs if trial.objective is not None]
        return Timing(shown(state.request.objective, median_low(values)), len(values)), None
    originals, candidates = evidence.ended
    if not evidence.low <= median(originals) / median(candidates) <= evidence.high:
        # Some runs were disturbed: the median pair has the reported ratio.
        middle = sorted(evidence.pairs, key=lambda pair: pair[0] / pair[1])[len(evidence.pairs) // 2]
        return timing(middle[:1]), timing(middle[1:])
    return timing(originals), timing(candidates)


def _knobs_of(trials: Iterable[Trial]) -> set[str]:
    """Return the knobs that a run has set."""
    return {name for trial in trials for name, _ in trial.configuration.items}


def _best_so_far(state: TuneState, evidence: Evidence | None) -> BestSoFar | None:
    """Return the best configuration if the proof was not reached or ended undecided with its budget."""
    pairs_s = state.run_s + min(state.run_s, state.quickest_s)
    if evidence is not None:
        if not evidence.verdict.is_open or evidence.ratio <= 1 + evidence.minimum_effect:
            return None
        return BestSoFar(
            evidence.configuration,
            evidence.ratio,
            render(evidence.configuration, state.situation),
            len(evidence.pairs),
            evidence.wins,
            evidence.missing_pairs,
            evidence.missing_pairs * pairs_s,
        )
    candidates = list(state.candidates.values())
    if state.interrupted:
        trials = (*state.originals, *state.earlier, *state.searched)
        once = {(trial.block, trial.number): trial for trial in trials}
        candidates = list(best_so_far(state.space, once.values()).candidates)
    best = next(
        (candidate for candidate in candidates if candidate.configuration not in state.rejected), None
    )
    if best is None:
        return None
    missing = state.request.rule.clear_pairs()
    return BestSoFar(
        best.configuration,
        best.expected_ratio,
        render(best.configuration, state.situation),
        missing_pairs=missing,
        missing_s=missing * pairs_s,
    )


def _why_nothing_tried(state: TuneState) -> str:
    """Return the reason why no configuration was tried, with a remedy."""
    knobs_left = len(state.space.dimensions)
    if state.interrupted:
        return ""
    if not knobs_left:
        return "no setting applies that could matter here"
    wanted_s = state.run_s * (knobs_left + 3 * state.request.rule.fewest_pairs())
    mark = ", --mark CALL to end runs earlier" if state.marks is None else ""
    return (
        f"a run takes {state.run_s:.3g} s and the budget is {show_duration(state.request.budget_s)}; "
        f"try --budget {max(1, ceil(wanted_s / 60))}m{mark}, or a shorter input"
    )


def _resume_options(request: TuneRequest, directory: Path) -> tuple[str, ...]:
    """Return the options that select this tune; its other options are in its log."""
    store = directory.parent.absolute()
    named = () if store == default_store().absolute() else ("--store", str(store))
    return (*(("--submit",) if request.into is not None else ()), "--resume", *named)


# Parameter files of MPI libraries: variable prefix → file name, and its path below the installation prefix.
_PARAMETER_FILES = {
    "OMPI_MCA_": ("openmpi-mca-params.conf", "etc/openmpi-mca-params.conf"),
    "PRTE_MCA_": ("prte-mca-params.conf", "etc/prte-mca-params.conf"),
}


def write_site(
    directory: Path, configuration: Configuration, situation: Situation, evidence: Evidence
) -> list[str]:
    """Write the files into ``directory``/site; return sentences on their kinds and places.

    They hold only settings that were shown to contribute. Settings that other MPI libraries also read are
    in the modulefile alone, which belongs to one library. Nothing is installed: the files take effect when
    somebody copies them.
    """
    shown = shown_to_contribute(configuration, evidence)
    variables = dict(sorted(as_variables(shown, situation).environment.items())) if shown else {}
    if not variables:
        return ["nothing that was shown to contribute can be a default for every program"]
    exclusive = {
        name: value
        for name, value in variables.items()
        if mpis.is_read_by_alone(name, situation.mpi.implementation)
    }
    program, gain = " ".join(situation.job.program), f"{evidence.ratio:.2f}x"
    part = "" if shown == configuration else f", of {configuration}"
    title = f"{situation.mpi.label}: {shown}{part}; proved {gain} {interval(evidence)} for {program}"
    files = {"mpiric-site.tcl": _module(variables, title, situation)}
    sentences = ["site defaults to install:"]
    for prefix, (name, file) in _PARAMETER_FILES.items():
        parameters = {
            key.removeprefix(prefix): value for key, value in exclusive.items() if key.startswith(prefix)
        }
        if parameters:
            files[name] = _parameters(parameters, title)
            sentences.append(f"append {directory}/site/{name} to {situation.mpi.prefix}/{file}")
    if exclusive:
        files["mpiric-site.sh"] = _shell(exclusive, title)
        sentences.append(f"or source {directory}/site/mpiric-site.sh from /etc/profile.d")
    sentences.append(
        f"{'or ' if exclusive else ''}offer {directory}/site/mpiric-site.tcl as an environment module"
    )
    if shared := sorted(variables.keys() - exclusive.keys()):
        sentences.append(
            f"{', '.join(shared)}: other MPI libraries read this too, so only the module of "
            f"{situation.mpi.label} sets it"
        )
    with writing(f"{directory}/site", "name another --store"):
        (directory / "site").mkdir(exist_ok=True)
        for name in ("mpiric-site.sh", *(name for name, _ in _PARAMETER_FILES.values())):
            (directory / "site" / name).unlink(missing_ok=True)
        for name, text in files.items():
            write_whole(directory / "site" / name, text.encode())
    return sentences


def shown_to_contribute(configuration: Configuration, evidence: Evidence) -> Configuration:
    """Return the settings of an answer that were shown to contribute, or without which it does not run."""
    settings = {
        name: value
        for name, value in configuration.items
        if (share := evidence.share_of(name)) is not None
        and (share.shown or share.is_needed or (share.is_estimated and share.low > 1))
    }
    return Configuration.of(settings)


def _shell(variables: Mapping[str, str], title: str) -> str:
    lines = [
        f'[ -n "${{{variable_name(name)}:-}}" ] || export {name}={sh_word(value)}'
        for name, value in variables.items()
    ]
    return "\n".join([comment(title), "# A setting of the user takes precedence.", *lines, ""])


def _module(variables: Mapping[str, str], title: str, situation: Situation) -> str:
    lines = [
        f"if {{ ![info exists ::env({variable_name(name)})] }} {{ setenv {name} {tcl_word(value)} }}"
        for name, value in variables.items()
    ]
    what = tcl_word(f"measured defaults for {situation.mpi.label}")
    head = ["#%Module1.0", comment(title), f"module-whatis {what}"]
    return "\n".join([*head, *lines, ""])


def _parameters(parameters: Mapping[str, str], title: str) -> str:
    lines = (f"{parameter_value(name)} = {parameter_value(value)}" for name, value in parameters.items())
    return "\n".join([comment(title), *lines, ""])
