"""What a program is compared with: the runs of a recipe, or of a tune of some day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from mpiric.host.files import exists
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.marks import MarkPair
from mpiric.model.recipe import Recipe
from mpiric.model.trial import Phase, Trial
from mpiric.tuning.recipe import SUFFIX, read_recipe
from mpiric.tuning.store.events import TuneEvents, moment, read_log
from mpiric.tuning.store.store import EVENTS, Store
from mpiric.workflows.history.recorded_steps import recorded_steps, records_at
from mpiric.workflows.run.recipe_choice import check_value
from mpiric.workflows.trials.kept_marks import kept_marks

_FAR = 1.5  # factor of the median distance of marks; longer distances are not steps
_MOST_RUNS = 30  # of either day: more say little more


@dataclass(frozen=True)
class BaselineMarks:
    """Two marks, and when the original came to the second."""

    pair: MarkPair
    last_s: float


@dataclass(frozen=True)
class Baseline:
    """What is compared with: a configuration and its objectives on that day."""

    name: str
    configuration: Configuration
    tuned: tuple[float, ...]
    original: tuple[float, ...]
    objective: str
    marks: BaselineMarks | None = None  # between which its runs were compared; None: they were whole
    measured_in: str = ""  # place of the runs, as in `model.recipe.Recipe`


@dataclass(frozen=True)
class AgainstRequest:
    """A command to measure again, and what with."""

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
    """The runs of the recipe or day that a request names; ``job`` identifies the command."""
    path = Path(request.against)
    if records := records_at(path):
        return _of_records(path, records)
    if path.suffix == ".toml" or exists(path):
        recipe = read_recipe(path, check_value)
        if recipe.evidence is None:
            raise MpiricError(f"the recipe {path} has no evidence to compare with")
        original, tuned = recipe.evidence.ended
        log = read_log(path.parent / EVENTS)
        name = f"{path} ({recipe.created[:10]})"
        if recipe.scope and kept_marks(log) is not None:
            return _of_steps(name, recipe.configuration, log)
        if recipe.scope:
            return _of_saved_steps(name, recipe, original, tuned)
        objective = str(log.meta.get("objective", "wall"))
        return Baseline(
            name,
            recipe.configuration,
            tuned[-_MOST_RUNS:],
            original[-_MOST_RUNS:],
            objective,
            measured_in=recipe.measured_in,
        )
    return _baseline_of_day(_date(request.against), Store(request.store), job)


def _date(text: str) -> datetime:
    try:
        day = datetime.fromisoformat(text)
        # A bare date means the whole of that day.
        whole = day.replace(hour=23, minute=59, second=59) if len(text) == 10 else day
        return whole if whole.tzinfo else whole.astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        raise MpiricError(
            f"{text!r} is neither a recipe nor a date",
            hint="for example --against 2026-11-01, or --against lj.toml",
        ) from error


def _baseline_of_day(day: datetime, store: Store, job: str) -> Baseline:
    """The newest finished tune of this command that is not younger than ``day``."""
    finished = [tune for tune in store.tunes() if tune.job == job and tune.finished]
    fitting = [tune for tune in finished if (began := moment(tune.started_at)) and began <= day]
    if not fitting:
        raise NotFoundError(
            f"no tune of this command from {day:%Y-%m-%d} or before in {store.root}",
            hint="`mpiric history` lists what there is" if finished else "tune it first: mpiric tune -- CMD",
        )
    log = read_log(fitting[-1].path / EVENTS)
    proof = [trial for trial in log.trials_of(Phase.PROOF) if trial.objective is not None]
    tuned = _proved(result_of(fitting[-1].path), proof)
    name = f"the tune of {fitting[-1].started_at[:10]}"
    answer = tuned if result_of(fitting[-1].path).get("recipe") else Configuration()
    if kept_marks(log) is not None:
        return _of_steps(name, answer, log)
    return Baseline(
        name,
        answer,
        _objectives(proof, tuned),
        _objectives(proof, Configuration()) or _objectives(log.trials_of(Phase.OBSERVE), Configuration()),
        str(log.meta.get("objective", "wall")),
        measured_in=_measured_in(fitting[-1].path),
    )


def _measured_in(directory: Path) -> str:
    """Return the place in which a tune made its runs, from its recipe; "" without a recipe."""
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        return read_recipe(path, check_value).measured_in
    return ""


def _of_records(path: Path, records: tuple[Path, ...]) -> Baseline:
    """Recorded runs of the command as it is, by the time from one mark to the next."""
    choice, window, paces = recorded_steps(records[-_MOST_RUNS:])
    assert choice.key is not None
    pair = MarkPair(choice.key, window.first, window.last, choice.on_rank_0_alone)
    marks = BaselineMarks(pair, window.last_s)
    return Baseline(f"the records in {path}", Configuration(), (), paces, "wall", marks)


def _of_saved_steps(name: str, recipe: Recipe, original: Sequence[float], tuned: Sequence[float]) -> Baseline:
    """Runs that ended at a mark, by the recipe alone: its pairs are times per step, or forecasts of them."""
    marks = recipe.marks
    if marks is None:
        raise MpiricError(
            f"{name} was proved at marks, and does not say which", hint="tune again, or name a date"
        )
    paces = []
    for values, start_s, per_mark_s in zip((original, tuned), marks.start_s, marks.per_mark_s, strict=True):
        if recipe.scope == "forecast":
            steps = (median(values) - start_s) / per_mark_s
            values = [(value - start_s) / steps for value in values] if steps > 0 else []
        elif not per_mark_s / _FAR < median(values) < per_mark_s * _FAR:
            values = []
        paces.append(tuple(value for value in values[-_MOST_RUNS:] if value > 0))
    if not all(paces):
        raise MpiricError(
            f"{name} was proved by another objective than time, and holds no times of single runs",
            hint="name the recipe in the directory of its tune, or a date",
        )
    last_s = marks.start_s[0] + marks.pair.last * marks.per_mark_s[0]
    return Baseline(name, recipe.configuration, paces[1], paces[0], "wall", BaselineMarks(marks.pair, last_s))


def _of_steps(name: str, answer: Configuration, log: TuneEvents) -> Baseline:
    """Runs that ended at a mark: the time from one mark to the next is compared."""
    kept = kept_marks(log)
    if kept is None:
        raise MpiricError(
            f"{name} was proved at marks, and the log that says where they lie is not beside it",
            hint="name the recipe in the directory of its tune, or a date",
        )
    pair, window, _ = kept
    return Baseline(
        name,
        answer,
        _paces(log, answer),
        _paces(log, Configuration()),
        "wall",
        BaselineMarks(pair, window.last_s),
    )


def _paces(log: TuneEvents, configuration: Configuration) -> tuple[float, ...]:
    """Times per mark; of a tune that ended before its proof those of its first runs."""
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
    """What a tune has proved; before results named it, what its last rounds were made of."""
    named = result.get("configuration")
    if isinstance(named, dict):
        return Configuration.of({str(knob): str(value) for knob, value in named.items()})
    return next((trial.configuration for trial in reversed(proof) if trial.configuration), Configuration())


def _objectives(trials: Sequence[Trial], configuration: Configuration) -> tuple[float, ...]:
    values = [t.objective for t in trials if t.configuration == configuration and t.objective is not None]
    return tuple(values[-_MOST_RUNS:])


def result_of(directory: Path) -> Mapping[str, Any]:
    """The result that a tune recorded in its directory; empty for one that did not end."""
    return read_log(directory / EVENTS).result
