"""From evidence to what the user keeps: the changes in words, the recipe, the page."""

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

from mpiric import __version__, knobs
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NoRoomError
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.launch import Launch
from mpiric.model.machine import Machine
from mpiric.model.recipe import Recipe
from mpiric.model.situation import Situation
from mpiric.model.trial import Trial
from mpiric.model.tuned import BestSoFar, KnobChange, Rejected, Timing, Tuned
from mpiric.report.tuned_html import tuned_html
from mpiric.report.tuned_json import tuned_json
from mpiric.tuning.objective import shown
from mpiric.tuning.recipe import file_name, write_recipe
from mpiric.tuning.search.search import best_so_far
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.launch.fingerprints import fingerprint, program_name
from mpiric.workflows.launch.spelling import completed, render, spellings
from mpiric.workflows.policies import all_learned, export_policy, origins
from mpiric.workflows.tune.site_defaults import write_site
from mpiric.workflows.tune.state import TuneState


def write_results(
    state: TuneState, log: TuneLog, host: Host, elapsed_s: float, also: Path | None, *, site: bool = False
) -> Tuned:
    """Write recipe and page (and a site's defaults), and close the record of a tune that came to its end."""
    situation = state.observed.situation
    evidence = _best(state.evidence)
    faster = evidence is not None and evidence.verdict is Verdict.FASTER
    configuration = evidence.configuration if evidence is not None and faster else Configuration()
    original, tuned = _timings(evidence, state)
    launch, launch_why = _launch(configuration, situation)
    trials = log.read().trials
    state.notes += _export(configuration, log, host)
    if site and evidence is not None and faster:
        state.notes += write_site(log.path, configuration, situation, evidence)
    result = Tuned(
        job=situation.job,
        mpi=situation.mpi,
        machine=_machine_line(situation.machine),
        evidence=evidence,
        original=original,
        tuned=tuned,
        changes=_changes(configuration, situation),
        launch=launch,
        launch_why=launch_why,
        objective=state.objective.text,
        maximise=state.objective.maximise,
        best_so_far=_best_so_far(state) if state.interrupted and not faster else None,
        rejected=tuple(Rejected(what, why) for what, why in state.rejected.items()),
        findings=state.findings,
        tried=tuple(dimension.knob for dimension in state.space.dimensions),
        runs=len(trials),
        elapsed_s=elapsed_s,
        recipe=_save(state, evidence, log.path, also, host) if evidence is not None and faster else "",
        store=str(log.path),
        interrupted=state.interrupted,
        notes=tuple(state.notes),
    )
    _write_page(log.path, result, trials)
    if not state.interrupted:
        log.append("finished", {"result": tuned_json(result)})
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
        return Timing(shown(state.objective, median(values)), len(values))

    if evidence is None or not evidence.pairs:
        return timing([t.objective for t in state.observed.originals if t.objective is not None]), None
    originals, candidates = zip(*evidence.pairs, strict=True)
    return timing(originals), timing(candidates)


def _best_so_far(state: TuneState) -> BestSoFar | None:
    """What the runs until an interruption say."""
    seen = [*state.observed.originals, *state.earlier, *state.trials]
    candidates = best_so_far(state.space, seen).candidates
    if not candidates:
        return None
    best = candidates[0]
    return BestSoFar(
        best.configuration, best.expected_ratio, render(best.configuration, state.observed.situation)
    )


def _changes(configuration: Configuration, situation: Situation) -> tuple[KnobChange, ...]:
    written = spellings(configuration, situation)
    return tuple(
        KnobChange(name, value, _why(name, situation), written[name].note)
        for name, value in completed(configuration, situation).items
    )


def _why(name: str, situation: Situation) -> str:
    knob = knobs.all_knobs()[name]
    promise = knob.promise(situation)
    return promise.because if promise.score >= 0.5 else knob.why


def _launch(configuration: Configuration, situation: Situation) -> tuple[Launch | None, str]:
    """The command that needs no mpiric, or why there is none."""
    try:
        return render(configuration, situation), ""
    except MpiricError as error:
        return None, error.message


def _save(state: TuneState, evidence: Evidence, directory: Path, also: Path | None, host: Host) -> str:
    """Write the recipe of what was proved faster; its path."""
    situation = state.observed.situation
    recipe = Recipe(
        name=program_name(situation.job),
        configuration=evidence.configuration,
        fingerprint=fingerprint(situation.job, situation.machine, situation.mpi, host),
        evidence=evidence,
        command=state.argv,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        reasons={name: _why(name, situation) for name, _ in evidence.configuration.items},
        checked_output=state.checked_output,
        mpiric_version=__version__,
        policy=_policy(evidence.configuration, situation),
    )
    path = directory / file_name(recipe.name)
    write_recipe(path, recipe)
    if also is not None:
        path = also / file_name(recipe.name) if also.is_dir() else also
        write_recipe(path, recipe)
    return str(path)


def _policy(configuration: Configuration, situation: Situation) -> tuple[str, ...]:
    """The lines that `collectives = "policy"` or `"exported"` stands for."""
    tuner = situation.tuner
    files = {"policy": tuner.policy, "exported": tuner.exported_policy}
    path = files.get(configuration.as_dict().get("collectives", ""), "")
    return tuple(Path(path).read_text(encoding="ascii").splitlines()) if path else ()


def _export(configuration: Configuration, log: TuneLog, host: Host) -> list[str]:
    """What was learned about collectives, as a policy and in the library's own form; in sentences."""
    learned = all_learned(log.path)
    if configuration.as_dict().get("collectives") not in ("policy", "exported") or learned is None:
        return []
    return [*origins(log.path), *export_policy(learned, log.path / "collectives", host)]


def _write_page(directory: Path, result: Tuned, trials: tuple[Trial, ...]) -> None:
    path = directory / "report.html"
    try:
        path.write_text(tuned_html(result, trials, __version__), encoding="utf-8")
    except OSError as error:
        raise NoRoomError(
            f"cannot write {path}: {error.strerror}", hint="name another place with --store"
        ) from error
