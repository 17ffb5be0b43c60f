"""Tunes and recipes over time; and whether a program has become slower since one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mpiric.host.host import Host
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.narrator import Narrator
from mpiric.model.situation import Allowed
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.objective import parse_objective
from mpiric.tuning.proof.regression import Regression, compare_days, runs_needed
from mpiric.tuning.recipe import read_recipe
from mpiric.tuning.store.events import read_log
from mpiric.tuning.store.store import EVENTS, Store, TuneSummary
from mpiric.workflows.launch.fingerprints import job_identity, program_name
from mpiric.workflows.launch.host_names import with_host_names
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.run.recipe_choice import check_value
from mpiric.workflows.trials.judge import Judge
from mpiric.workflows.trials.observe import observe
from mpiric.workflows.trials.trials import Trials

_MOST_RUNS = 30  # of either day: more say little more


@dataclass(frozen=True)
class Past:
    """One tune as a list shows it."""

    summary: TuneSummary
    result: Mapping[str, Any]  # of `mpiric tune --json`; empty for a tune that did not end


@dataclass(frozen=True)
class Baseline:
    """What is compared with: a configuration and its objectives on that day."""

    name: str
    configuration: Configuration
    tuned: tuple[float, ...]
    original: tuple[float, ...]
    objective: str


@dataclass(frozen=True)
class AgainstRequest:
    """A command to measure again, and what with."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    against: str  # path of a recipe, or a date
    stdin: str = ""
    store: Path | None = None
    in_place: bool = False
    confidence: float = 0.99
    minimum_effect: float = 0.01


@dataclass(frozen=True)
class DayComparison:
    """Then and now, for the command as it is and, where the baseline has one, with its recipe."""

    baseline: Baseline
    as_it_is: Regression
    with_recipe: Regression | None
    store: str

    @property
    def decisive(self) -> Regression:
        """What the exit status goes by: the recipe's runs where there are any."""
        return self.with_recipe or self.as_it_is


def past(store: Path | None) -> tuple[Past, ...]:
    """Every tune of the store, the oldest first."""
    return tuple(Past(summary, _result(summary.path)) for summary in Store(store).tunes())


def against(request: AgainstRequest, host: Host, narrator: Narrator) -> DayComparison:
    """Measure the command again, as it is and with the baseline's recipe in turn, and compare the days."""
    parsed = parse_job(request.argv, host, request.working_directory, request.environment, request.stdin)
    baseline = _baseline(request, job_identity(parsed.job))
    wanted = runs_needed(len(baseline.original), request.confidence)
    if wanted is None:
        raise MpiricError(
            f"{baseline.name} has only {len(baseline.original)} runs to compare with",
            hint="take a recipe with a proof as baseline, or a lower --confidence",
        )
    store = Store(request.store)
    name = program_name(parsed.job)
    job = job_identity(parsed.job)
    with (
        store.create(name, f"history-{job}", request.argv, against=baseline.name) as record,
        Runner() as runner,
        WorkingCopies(
            Path(request.working_directory), record.path, CopyPolicy(in_place=request.in_place)
        ) as copies,
    ):
        trials = Trials(runner, copies, record, Judge(parse_objective(baseline.objective)))
        narrator.phase(f"Again, to compare with {baseline.name}")
        everything = Allowed(vary_ranks=True, vary_nodes=True, rounding=True)
        situation, _ = observe(trials, parsed, host, everything, narrator, compare=False)
        situation = with_host_names(situation, host)
        now: dict[Configuration, list[float]] = {Configuration(): [], baseline.configuration: []}
        for pair in range(max(wanted, 9)):
            for configuration in now:  # in turn, so that a drift of the machine meets both
                result = trials.run(situation, configuration, Phase.HISTORY, pair=pair)
                narrator.trial(result.trial, None, float("inf"))
                now[configuration].append(_value(result.trial))
        record.append("finished", {"result": {}})
    rule = (request.confidence, request.minimum_effect)
    return DayComparison(
        baseline,
        compare_days(baseline.original, now[Configuration()], *rule),
        compare_days(baseline.tuned, now[baseline.configuration], *rule) if baseline.configuration else None,
        str(record.path),
    )


def _value(trial: Trial) -> float:
    if trial.outcome is not Outcome.OK or trial.objective is None:
        raise MpiricError(f"a run failed: {trial.configuration}: {trial.reason}")
    return trial.objective


def _baseline(request: AgainstRequest, job: str) -> Baseline:
    path = Path(request.against)
    if path.suffix == ".toml" or path.exists():
        recipe = read_recipe(path, check_value)
        if recipe.evidence is None:
            raise MpiricError(f"the recipe {path} has no evidence to compare with")
        pairs = recipe.evidence.pairs[-_MOST_RUNS:]
        log = read_log(path.parent / EVENTS)
        objective = str(log.meta.get("objective", "wall"))
        return Baseline(
            f"{path} ({recipe.created[:10]})",
            recipe.configuration,
            tuple(candidate for _, candidate in pairs),
            tuple(original for original, _ in pairs),
            objective,
        )
    return _baseline_of_day(_date(request.against), Store(request.store), job)


def _date(text: str) -> datetime:
    try:
        day = datetime.fromisoformat(text)
    except ValueError as error:
        raise MpiricError(
            f"{text!r} is neither a recipe nor a date",
            hint="for example --against 2026-11-01, or --against lj.toml",
        ) from error
    # A bare date means the whole of that day.
    whole = day.replace(hour=23, minute=59, second=59) if len(text) == 10 else day
    return whole if whole.tzinfo else whole.astimezone(timezone.utc)


def _baseline_of_day(day: datetime, store: Store, job: str) -> Baseline:
    """The newest finished tune of this command that is not younger than ``day``."""
    known = [tune for tune in store.tunes() if tune.job == job and tune.finished]
    fitting = [tune for tune in known if datetime.fromisoformat(tune.started_at) <= day]
    if not fitting:
        raise NotFoundError(
            f"no tune of this command from {day:%Y-%m-%d} or before in {store.root}",
            hint="`mpiric history` lists what there is" if known else "tune it first: mpiric tune -- CMD",
        )
    log = read_log(fitting[-1].path / EVENTS)
    proof = [trial for trial in log.trials_of(Phase.PROOF) if trial.objective is not None]
    tuned = next((trial.configuration for trial in reversed(proof) if trial.configuration), Configuration())
    return Baseline(
        f"the tune of {fitting[-1].started_at[:10]}",
        tuned if _result(fitting[-1].path).get("recipe") else Configuration(),
        _objectives(proof, tuned),
        _objectives(proof, Configuration()) or _objectives(log.trials_of(Phase.OBSERVE), Configuration()),
        str(log.meta.get("objective", "wall")),
    )


def _objectives(trials: Sequence[Trial], configuration: Configuration) -> tuple[float, ...]:
    values = [t.objective for t in trials if t.configuration == configuration and t.objective is not None]
    return tuple(values[-_MOST_RUNS:])


def _result(directory: Path) -> Mapping[str, Any]:
    finished = [event for event in read_log(directory / EVENTS).events if event.get("event") == "finished"]
    result = finished[-1].get("result") if finished else None
    return result if isinstance(result, dict) else {}
