"""The evaluator: asks for the runs of a search, limits their time, and remembers what they gave."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import exp, inf, isfinite, log
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.run import Plan, Run
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.budget import Budget
from mpiric.tuning.proof.separation import separation
from mpiric.tuning.search.effects import Effects
from mpiric.tuning.search.space import Point, SearchSpace

_CAP = 2.5  # a run longer than this multiple of the best is stopped
_CAP_OF_ORIGINAL, _SLACK_OF_ORIGINAL_S = 4.0, 5.0  # time limit from the slowest run: factor, and slack
_HANGS = 4.0  # the same of the slowest, where the objective is not the time of the run
_ORIGINAL_EVERY = 12  # runs
_DISTURBED = 0.26  # increase of the logarithm of a run's time: 1.3 times as long
_MUCH = 0.15  # off the logarithm of the objective
_SLACK_S = 1.0  # on top of a limit: start-up is not the program's speed


class OutOfBudgetError(Exception):
    """The next run does not fit any more; ends the search, never reaches the user."""


@dataclass
class Evaluator:
    """Asks for runs and keeps them all, in order; ``objective_is_time`` allows to stop a slow run early.

    Runs that are ``known`` inform from the start. Those of phase SEARCH were made ahead of the search, many
    at a time, and answer once when such a run is asked for, at no cost. ``feasible`` tells without a run
    what cannot even be written down.
    """

    space: SearchSpace
    budget: Budget
    known: Sequence[Trial] = ()
    objective_is_time: bool = True
    feasible: Callable[[Configuration], bool] = lambda _: True
    expected_s: float = 0.0  # of a run, before there is any
    corrected: Sequence[Trial] = ()  # earlier trials that turned out otherwise; it grows
    stop_at: Callable[[], float | None] = lambda: None  # objective at which a run is of no use any more
    made: list[Trial] = field(default_factory=list)  # runs that were made for it, in order
    trials: list[Trial] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)  # of the runs with a time, stopped ones included
    logs: list[float] = field(default_factory=list)
    failed: dict[Point, str] = field(default_factory=dict)
    stopped: set[Point] = field(default_factory=set)
    minimal: Point | None = None  # the best without settings that do not contribute; goes to the proof
    _writable: dict[Point, bool] = field(default_factory=dict)
    _fit: Effects | None = None
    _fitted: int = 0
    _seen_corrected: int = 0
    _runs: int = 0
    _disturbed_runs: int = 0
    _around_s: list[float] = field(default_factory=list)  # each run: its directory, and its files
    _answers: dict[Configuration, list[Trial]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.take(self.known)
        for trial in self.known:
            if trial.phase is Phase.SEARCH and trial.outcome is not Outcome.INTERRUPTED:
                self._answers[trial.configuration].append(trial)

    @property
    def original(self) -> Point:
        """Point of the unchanged command."""
        return (0,) * len(self.space.factors)

    @property
    def run_s(self) -> float:
        """Seconds that one more run takes with all that surrounds it, estimated."""
        walls = [trial.wall_s for trial in self.trials if trial.outcome is not Outcome.REFUSED]
        around_s = median(self._around_s) if self._around_s else 0.0
        return median(walls) + around_s if walls else self.expected_s

    def runs_left(self) -> int:
        """How many more runs fit."""
        return self.budget.runs_that_fit(self.run_s)

    def is_original_due(self) -> bool:
        """Whether the original has not run for a while: a machine may change its speed meanwhile.

        Nor since the first setting that seems to help much: a machine that became faster looks the same.
        """
        if all(trial.configuration for trial in self.trials[-_ORIGINAL_EVERY:]):
            return True
        first = next((at for at, point in enumerate(self.points) if any(point)), len(self.points))
        if not first or not all(any(point) for point in self.points[first:]):
            return False
        return min(self.logs[first:], default=inf) < median(self.logs[:first]) - _MUCH

    def is_original_disturbed(self) -> bool:
        """Return whether half of the original's runs or more took much longer than the quickest."""
        logs = [log for log, point in zip(self.logs, self.points, strict=True) if not any(point)]
        return self.objective_is_time and median(logs) > min(logs) + _DISTURBED

    def was_slower(self, point: Point) -> bool:
        """Return whether the runs of a point took longer than the original, without drift and uncertainty."""
        logs = [time for measured, time in zip(self.points, self.logs, strict=True) if measured == point]
        original = [time for measured, time in zip(self.points, self.logs, strict=True) if not any(measured)]
        return bool(logs and original) and median(logs) > median(original)

    def is_separated(self, point: Point, gain: float) -> bool:
        """Return whether a gap separates the runs of a point from slower ones of the original."""
        groups = [
            [(exp(time), exp(time)) for run, time in zip(self.points, self.logs, strict=True) if run == each]
            for each in (self.original, point)
        ]
        return all(groups) and separation(*groups)[0] > 1 + gain

    def weight(self, point: Point) -> int:
        """Return the weights of the settings of a point together."""
        return sum(factor.weight for factor, level in zip(self.space.factors, point, strict=True) if level)

    def runs_of(self, point: Point) -> int:
        """How often a point was measured to its end."""
        return 0 if point in self.stopped else self.points.count(point)

    def run(self, point: Point) -> Plan[Trial]:
        """Run a point once more. Raises OutOfBudgetError; a KeyboardInterrupt passes through.

        A run that others disturbed is made again, once, unless the machine is disturbed all the time.
        """
        configuration = self.space.configuration(point)
        if self._answers[configuration]:
            return self._answers[configuration].pop(0)
        trial = yield from self._made(point, configuration)
        if self._is_to_repeat(trial):
            with suppress(OutOfBudgetError):
                trial = yield from self._made(point, configuration)
        self._correct()
        self._enter(trial)
        return trial

    def _is_to_repeat(self, trial: Trial) -> bool:
        """Return whether a run seems slow because other processes took its CPUs, and not as a rule."""
        self._disturbed_runs += trial.disturbed
        self._runs += 1
        if not trial.disturbed or 2 * self._disturbed_runs > self._runs:
            return False
        if trial.outcome is not Outcome.OK:
            return self._was_slow(trial)
        best = min(self.logs, default=-inf)
        return trial.objective is not None and trial.objective > 0 and log(trial.objective) > best

    def _made(self, point: Point, configuration: Configuration) -> Plan[Trial]:
        """Measure a configuration once. Raises OutOfBudgetError."""
        if not self.budget.fits(max(self.run_s, 1e-3)):
            raise OutOfBudgetError
        begun_s, limit_s = self.budget.elapsed_s, self._limit_s(point)
        trial = yield Run(
            configuration,
            Phase.SEARCH,
            limit_s=limit_s if isfinite(limit_s) else None,
            stop_at=self.stop_at() if configuration else None,
        )
        self.made.append(trial)
        self.budget.spend(trial.runs)
        around_s = self.budget.elapsed_s - begun_s - trial.wall_s
        if around_s >= 0:  # else it was made before
            self._around_s.append(around_s)
        if trial.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        return trial

    def _correct(self) -> None:
        """Enter anew what turned out otherwise: a rejection that was withdrawn excludes nothing any more."""
        for trial in self.corrected[self._seen_corrected :]:
            self._seen_corrected += 1
            at = next((n for n, old in enumerate(self.trials) if old.number == trial.number), None)
            point = self.space.point(trial.configuration)
            if at is None or point is None:
                continue
            del self.trials[at]
            self.failed.pop(point, None)
            if point in self.stopped:
                self._forget(point)
            self._fit = None
            if trial.outcome is not Outcome.INTERRUPTED:
                self._enter(trial)

    def may_work(self, point: Point) -> bool:
        """Whether a point can be written down and contains nothing that failed."""
        return self._can_be_written(point) and not any(
            all(have == bad for have, bad in zip(point, failure, strict=True) if bad)
            for failure in self.failed
        )

    def _can_be_written(self, point: Point) -> bool:
        if point not in self._writable:
            self._writable[point] = self.feasible(self.space.configuration(point))
        return self._writable[point]

    def effects(self) -> Effects:
        """Model of all runs so far; fitted once a run, the sizes of its priors now and then."""
        if self._fit is None or self._fitted != len(self.points):
            sizes = self._fit.sizes if self._fit and self._fitted >= 30 and len(self.points) % 5 else None
            self._fit = Effects(self.space, self.points, self.logs, sizes)
            self._fitted = len(self.points)
        return self._fit

    def take(self, trials: Iterable[Trial]) -> None:
        """Enter recorded trials without running anything."""
        for trial in trials:
            if trial.phase in (Phase.OBSERVE, Phase.SEARCH) and trial.outcome is not Outcome.INTERRUPTED:
                self._enter(trial)

    def rejected(self) -> tuple[tuple[Configuration, str], ...]:
        """Configurations that failed or were stopped for being slow, with the reason."""
        self._correct()
        slow = [(point, "clearly slower than the best; stopped early") for point in sorted(self.stopped)]
        return tuple((self.space.configuration(point), why) for point, why in (*self.failed.items(), *slow))

    def _enter(self, trial: Trial) -> None:
        self.trials.append(trial)
        point = self.space.point(trial.configuration)
        if point is None:
            return
        objective = trial.objective
        if trial.outcome is Outcome.OK and objective is not None and isfinite(objective) and objective > 0:
            if point in self.stopped:
                self._forget(point)  # that it was stopped was not its own fault
            self.points.append(point)
            self.logs.append(log(objective))
        elif self._was_slow(trial) and self.logs and any(point):
            self.points.append(point)
            self.logs.append(log(max(trial.at_least or trial.wall_s, 1e-6)))
            self.stopped.add(point)
        elif any(point):  # the original's own failures are the proof's business
            self.failed[point] = trial.reason or trial.outcome.value

    def _was_slow(self, trial: Trial) -> bool:
        """Return whether a run was stopped because its objective was known to be large."""
        is_known = self.objective_is_time or trial.at_least is not None
        return trial.outcome is Outcome.TIMED_OUT and is_known

    def _forget(self, point: Point) -> None:
        kept = [
            (measured, time)
            for measured, time in zip(self.points, self.logs, strict=True)
            if measured != point
        ]
        self.points[:], self.logs[:] = [measured for measured, _ in kept], [time for _, time in kept]
        self.stopped.discard(point)

    def _limit_s(self, point: Point) -> float:
        """Stop what is clearly slower than the best, and a run of the original that hangs."""
        if not any(point):
            logs = [
                trial.wall_s
                for trial in self.trials
                if not trial.configuration and trial.outcome is Outcome.OK
            ]
            return _CAP_OF_ORIGINAL * max(logs) + _SLACK_OF_ORIGINAL_S if logs else float("inf")
        if not self.logs:
            return float("inf")
        walls: dict[Configuration, list[float]] = defaultdict(list)
        for trial in self.trials:
            if trial.outcome is Outcome.OK:
                walls[trial.configuration].append(trial.wall_s)
        usual = [median(times) for times in walls.values()]
        if not usual:
            return float("inf")
        if self.objective_is_time:
            return _CAP * min(usual) + _SLACK_S
        return _HANGS * max(usual) + _SLACK_S
