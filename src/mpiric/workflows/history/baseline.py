"""Baselines of a comparison: the runs of a recipe, of a tune of some day, or of records."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from mpiric.host.files import exists, is_directory
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.evidence import Recipe
from mpiric.model.pace import MarkPair
from mpiric.model.run import Phase, Trial
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.statistics.step_window import MarkWindow, choose_window
from mpiric.tuning.events import TuneEvents, moment, read_log
from mpiric.tuning.mark_choice import MarkChoice, choose_key, without_library_places
from mpiric.tuning.mark_split import per_mark_s
from mpiric.tuning.recipe import SUFFIX, read_recipe
from mpiric.tuning.store import EVENTS, Store
from mpiric.workflows.run.recipe_choice import check_value
from mpiric.workflows.trials.step_markers import StepMarkers, kept_marks

_FAR = 1.5  # factor of the median distance of marks; longer distances are not steps
_MOST_RUNS = 30  # number of runs of each day that are compared; more would add little
RECORD = "record.mpiric"
_BUDGET_S = 600.0  # time for the new runs, which bounds the window
_PROFILE_HINT = (
    "record the command several times: mpiric profile -o DIR/1 -- CMD, mpiric profile -o DIR/2 -- CMD"
)


@dataclass(frozen=True)
class Baseline:
    """Objectives of a configuration and of the original on an earlier day."""

    name: str
    configuration: Configuration
    tuned: tuple[float, ...]
    original: tuple[float, ...]
    objective: str
    # Step markers, and the time at which the original reached the second; None for whole runs.
    marks: tuple[MarkPair, float] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)  # {NAME} in the command → original value
    measured_in: str = ""  # place of the runs, see `model.recipe.Recipe`


@dataclass(frozen=True)
class AgainstRequest:
    """Options of `mpiric history --against`."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    against: str  # path of a recipe or of records, or a date
    stdin: str = ""
    store: Path | None = None
    in_place: bool = False
    confidence: float = 0.99
    minimum_effect: float = 0.01


def baseline_of(request: AgainstRequest, job: str) -> Baseline:
    """Return the runs of the recipe, day or records that a request names; ``job`` identifies the command."""
    path = Path(request.against)
    if records := records_at(path):
        choice, window, paces = recorded_steps(records[-_MOST_RUNS:])
        assert choice.key is not None
        pair = MarkPair(choice.key, window.first, window.last, choice.on_rank_0_alone)
        return Baseline(f"the records in {path}", Configuration(), (), paces, "wall", (pair, window.last_s))
    if path.suffix == ".toml" or exists(path):
        recipe = read_recipe(path, check_value)
        if recipe.evidence is None:
            raise MpiricError(
                f"the recipe {path} has no recorded runs to compare with",
                hint="name a recipe that `mpiric tune` saved, or a date",
            )
        original, tuned = recipe.evidence.ended
        log = read_log(path.parent / EVENTS)
        name = f"{path} ({recipe.created[:10]})"
        if recipe.scope and (marks := kept_marks(log)):
            return _of_steps(name, recipe.configuration, log, marks)
        if recipe.scope:
            return _of_saved_steps(name, recipe, original, tuned)
        objective = str(log.meta.get("objective", "wall"))
        return Baseline(
            name,
            recipe.configuration,
            tuned[-_MOST_RUNS:],
            original[-_MOST_RUNS:],
            objective,
            parameters=recipe.parameters,
            measured_in=recipe.measured_in,
        )
    return _baseline_of_day(_date(request.against), Store(request.store), job)


def _date(text: str) -> datetime:
    try:
        day = datetime.fromisoformat(text)
        # A date without a time means the end of that day.
        moment_ = day.replace(hour=23, minute=59, second=59) if len(text) == 10 else day
        return moment_ if moment_.tzinfo else moment_.astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        raise MpiricError(
            f"{text!r} is neither a recipe nor a date",
            hint="for example --against 2026-11-01, or --against lj.toml",
        ) from error


def _baseline_of_day(day: datetime, store: Store, job: str) -> Baseline:
    """Return the newest finished tune of this command that began before ``day``."""
    finished = [tune for tune in store.tunes() if tune.job == job and tune.finished]
    fitting = [tune for tune in finished if (began := moment(tune.started_at)) and began <= day]
    if not fitting:
        raise NotFoundError(
            f"no tune of this command from {day:%Y-%m-%d} or before in {store.root}",
            hint="list the tunes: mpiric history" if finished else "tune it first: mpiric tune -- CMD",
        )
    log = read_log(fitting[-1].path / EVENTS)
    proof = [trial for trial in log.trials_of(Phase.PROOF) if trial.objective is not None]
    tuned = _proved(log.result, proof)
    name = f"the tune of {fitting[-1].started_at[:10]}"
    answer = tuned if log.result.get("recipe") else Configuration()
    if marks := kept_marks(log):
        return _of_steps(name, answer, log, marks)
    logged = log.meta.get("parameters")
    parameters = logged if isinstance(logged, dict) else {}
    recipes = sorted(fitting[-1].path.glob(f"*{SUFFIX}"))
    return Baseline(
        name,
        answer,
        _objectives(proof, tuned),
        _objectives(proof, Configuration()) or _objectives(log.trials_of(Phase.OBSERVE), Configuration()),
        str(log.meta.get("objective", "wall")),
        parameters={str(name): str(value) for name, value in parameters.items()},
        measured_in=read_recipe(recipes[0], check_value).measured_in if recipes else "",
    )


def _of_saved_steps(name: str, recipe: Recipe, original: Sequence[float], tuned: Sequence[float]) -> Baseline:
    """Return runs that ended at a step marker from the pairs of a recipe: times per step, or forecasts."""
    marks = recipe.marks
    if marks is None:
        raise MpiricError(
            f"{name} does not contain the step markers of its proof", hint="tune again, or name a date"
        )
    paces = []
    for values, start_s, step_s in zip((original, tuned), marks.start_s, marks.per_mark_s, strict=True):
        if recipe.scope == "forecast":
            steps = (median(values) - start_s) / step_s
            values = [(value - start_s) / steps for value in values] if steps > 0 else []
        elif not step_s / _FAR < median(values) < step_s * _FAR:
            values = []
        paces.append(tuple(value for value in values[-_MOST_RUNS:] if value > 0))
    if not all(paces):
        raise MpiricError(
            f"{name} was proved by another objective than time, and has no times of single runs",
            hint="name the recipe in the directory of its tune (`mpiric history` lists them), or a date",
        )
    last_s = marks.start_s[0] + marks.pair.last * marks.per_mark_s[0]
    return Baseline(name, recipe.configuration, paces[1], paces[0], "wall", (marks.pair, last_s))


def _of_steps(name: str, answer: Configuration, log: TuneEvents, marks: StepMarkers) -> Baseline:
    """Return runs that ended at a step marker, by the time per step."""
    last = (marks.pair, marks.window.last_s)
    return Baseline(name, answer, _paces(log, answer), _paces(log, Configuration()), "wall", last)


def _paces(log: TuneEvents, configuration: Configuration) -> tuple[float, ...]:
    """Return the times per step of the proof, or of the first runs without a proof."""
    for phase in (Phase.PROOF, Phase.OBSERVE):
        paces = [
            trial.split.per_mark_s
            for trial in log.trials_of(phase)
            if trial.configuration == configuration and trial.split and trial.split.per_mark_s
        ]
        if paces:
            break
    return tuple(paces[-_MOST_RUNS:])


def _proved(result: Mapping[str, Any], proof: Sequence[Trial]) -> Configuration:
    """Return the proved configuration of a tune; older results do not name it, but the proof ran it last."""
    named = result.get("configuration")
    if isinstance(named, dict):
        return Configuration.of({str(knob): str(value) for knob, value in named.items()})
    return next((trial.configuration for trial in reversed(proof) if trial.configuration), Configuration())


def _objectives(trials: Sequence[Trial], configuration: Configuration) -> tuple[float, ...]:
    values = [t.objective for t in trials if t.configuration == configuration and t.objective is not None]
    return tuple(values[-_MOST_RUNS:])


def records_at(path: Path) -> tuple[Path, ...]:
    """Return the records that a path names: a merged file, or all below a directory."""
    if is_directory(path):
        return tuple(sorted(path.rglob(RECORD)))
    return (path,) if path.name == RECORD else ()


def recorded_steps(records: tuple[Path, ...]) -> tuple[MarkChoice, MarkWindow, tuple[float, ...]]:
    """Return the step marker of recorded runs, a window of steps, and the seconds per step of each run.

    Raises MpiricError if no call marks the steps.
    """
    runs = [without_library_places(run_pace(read_record(path))) for path in records]
    choice = choose_key(runs[0])
    if choice.key is None:
        raise MpiricError(f"no step marker in {records[0]}: {choice.why}", hint=_PROFILE_HINT)
    paces = []
    for run, path in zip(runs, records, strict=True):
        pace = run.first_rank.of(choice.key) if run.first_rank else None
        if pace is None:
            raise MpiricError(
                f"{path} and {records[0]} have different calls and belong to different programs",
                hint=_PROFILE_HINT,
            )
        paces.append(pace)
    window = choose_window(paces, _BUDGET_S)
    steps = [per_mark_s(pace, window.first, window.last) if window else None for pace in paces]
    if window is None or None in steps:
        raise MpiricError(f"{records[0]} has too few steps", hint=_PROFILE_HINT)
    return choice, window, tuple(step for step in steps if step is not None)
