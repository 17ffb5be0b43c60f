"""Results that the user keeps: the changes in words, the recipe, the page."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from mpiric import __version__, knobs
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, writing
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.knob import worst_effect
from mpiric.model.launch import Launch
from mpiric.model.machine import Machine
from mpiric.model.situation import Situation
from mpiric.model.trial import Phase, Trial
from mpiric.model.tuned import BestSoFar, Rejected, Timing, Tuned
from mpiric.report.tuned_html import tuned_html
from mpiric.report.tuned_json import tuned_json
from mpiric.tuning.marks.split_gain import paired_splits, split_gain
from mpiric.tuning.objective import shown
from mpiric.tuning.search.search import best_so_far
from mpiric.tuning.store.store import default_store
from mpiric.workflows.launch.spelling import render
from mpiric.workflows.tune.answer_files import file_times, hints_of, ignored_hints
from mpiric.workflows.tune.changes import changes_of
from mpiric.workflows.tune.mark_results import marks_fields
from mpiric.workflows.tune.observe_answer import with_afterwards
from mpiric.workflows.tune.rank_orders import export_order
from mpiric.workflows.tune.request import TuneRequest
from mpiric.workflows.tune.save_recipe import export_learned, save_recipe
from mpiric.workflows.tune.site_defaults import write_site
from mpiric.workflows.tune.state import TuneState
from mpiric.workflows.tune.written_outside import written_outside


def write_results(state: TuneState, host: Host, elapsed_s: float) -> Tuned:
    """Write recipe and page (and a site's defaults), and close the log of a tune that came to its end."""
    directory, situation, evidence = state.log.path, state.situation, _best(state.evidence)
    proved = evidence if evidence is not None and evidence.verdict is Verdict.FASTER else None
    configuration = proved.configuration if proved else Configuration()
    original, tuned = _timings(evidence, state)
    launch, launch_why = _launch(configuration, situation)
    trials = state.log.read().trials
    split = split_gain(paired_splits(trials, evidence.configuration)) if evidence else None
    state.notes += [
        *([state.shortfall] if state.shortfall and not proved else []),
        *ignored_hints(configuration, state),
        *state.copies.notes,
        *written_outside(
            situation.observation.behaviour,
            situation.job.environment,
            ends_at_mark=state.marks is not None,
        ),
    ]
    if state.request.site and proved:
        state.notes += write_site(directory, configuration, situation, proved)
    at_marks = marks_fields(state, trials, original, tuned)  # has notes of its own
    result = Tuned(
        job=situation.job,
        mpi=situation.mpi,
        machine=_machine_line(situation.machine),
        evidence=evidence,
        original=original,
        tuned=tuned,
        changes=changes_of(proved, situation, of_site=state.request.site) if proved else (),
        hints=hints_of(configuration, state),
        io=file_times(trials, configuration),
        files_effect=worst_effect(knobs.all_knobs()[name].files for name, _ in configuration.items),
        launch=launch,
        launch_why=launch_why,
        exports=(
            *export_learned(configuration, directory, host),
            *export_order(configuration, situation, directory),
        ),
        resume_options=_resume_options(state.request, directory),
        objective=state.request.objective.text,
        maximise=state.request.objective.maximise,
        best_so_far=_best_so_far(state) if state.interrupted and not proved else None,
        rejected=tuple(Rejected(what, why) for what, why in state.rejected.items()),
        findings=state.findings,
        tried=_tried(state, trials),
        cannot_matter=state.cannot_matter,
        runs=len(trials),
        elapsed_s=elapsed_s,
        around_runs_s=state.trials.around_runs_s,
        recipe=save_recipe(state, proved, split, host) if proved else "",
        store=str(directory),
        interrupted=state.interrupted,
        notes=tuple(state.notes),
        **at_marks,
        split=split,
    )
    result = with_afterwards(result, state)
    _write_page(directory, result, trials)
    if not state.interrupted:
        state.log.append("finished", {"result": tuned_json(result)})
    return result


def _machine_line(machine: Machine) -> str:
    return f"{machine.host_name}: {machine.usable_cpu_count} CPUs, {machine.cpu.model} ({machine.cpu.target})"


def _best(evidence: Sequence[Evidence]) -> Evidence | None:
    """What to keep: of those proved faster the one with the highest lower bound, else the likeliest."""
    faster = [each for each in evidence if each.verdict is Verdict.FASTER]
    if faster:
        return max(faster, key=lambda each: each.low)
    return max((each for each in evidence if each.pairs), key=lambda each: each.ratio, default=None)


def _timings(evidence: Evidence | None, state: TuneState) -> tuple[Timing, Timing | None]:
    """Medians of original and tuned as the user means them, from the proof's pairs where there are any."""

    def timing(values: Sequence[float]) -> Timing:
        return Timing(shown(state.request.objective, median(values)), len(values))

    if evidence is None or not evidence.pairs:
        return timing(_as_it_is([*state.originals, *state.searched])), None
    originals, candidates = evidence.ended
    return timing(originals), timing(candidates)


def _tried(state: TuneState, trials: Sequence[Trial]) -> tuple[str, ...]:
    """Knobs of the space that a run has set."""
    run = {name for trial in trials for name, _ in trial.configuration.items}
    return tuple(dimension.knob for dimension in state.space.dimensions if dimension.knob in run)


def _as_it_is(trials: Sequence[Trial]) -> list[float]:
    """Objectives of the runs of the command as it is, of recorded ones where there are no others."""
    runs = [
        (trial.phase, trial.objective)
        for trial in trials
        if not trial.configuration and trial.objective is not None
    ]
    untouched = [objective for phase, objective in runs if phase is not Phase.RECORD]
    return untouched or [objective for _, objective in runs]


def _best_so_far(state: TuneState) -> BestSoFar | None:
    """What the runs until an interruption say."""
    seen = [*state.originals, *state.earlier, *state.searched]
    candidates = best_so_far(state.space, seen).candidates
    if not candidates:
        return None
    best = candidates[0]
    return BestSoFar(best.configuration, best.expected_ratio, render(best.configuration, state.situation))


def _launch(configuration: Configuration, situation: Situation) -> tuple[Launch | None, str]:
    """The command that needs no mpiric, or why there is none."""
    try:
        return render(configuration, situation), ""
    except MpiricError as error:
        return None, error.message


def _resume_options(request: TuneRequest, directory: Path) -> tuple[str, ...]:
    """Options that find this tune again; its other options are kept with it."""
    store = directory.parent.absolute()
    named = () if store == default_store().absolute() else ("--store", str(store))
    return (*(("--submit",) if request.into is not None else ()), "--resume", *named)


def _write_page(directory: Path, result: Tuned, trials: tuple[Trial, ...]) -> None:
    path = directory / "report.html"
    with writing(path, "name another directory with --store"):
        path.write_text(tuned_html(result, trials, __version__), encoding="utf-8")
