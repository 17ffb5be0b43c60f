"""Evaluator: requests the runs of a search, limits their time and stores their results."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from math import exp, inf, isfinite, log
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.run import Outcome, Phase, Plan, Run, Trial
from mpiric.statistics.confidence_sequence import separation
from mpiric.statistics.effects import Effects, at_last_speed
from mpiric.statistics.space import Point, SearchSpace
from mpiric.tuning.objective import Budget

_CAP = 2.5  # time limit as a multiple of the fastest configuration
_HANGS = 4.0  # time limit as a multiple of the slowest configuration, if the objective is not the time
_SLACK_S = 1.0  # added to these limits, because start-up does not scale with the program
_CAP_OF_ORIGINAL, _SLACK_OF_ORIGINAL_S = 4.0, 5.0  # time limit of the original from its slowest run
_ORIGINAL_EVERY = 12  # runs after which the original runs again
_DISTURBED = 0.26  # increase of the logarithm of a run's time that indicates a disturbance: 1.3 times
_FEW_RUNS = 8  # number of runs that do not show yet whether disturbances are usual on the machine
_MUCH = 0.15  # decrease of the logarithm of the objective that is checked by a run of the original
_SLOWED = 0.05  # increase of the logarithm of the original's objective that a slow node may have caused
_SLOW_IN_A_ROW = 3  # runs that are slower by this than the original, after which it runs again


class OutOfBudgetError(Exception):
    """The next run does not fit into the budget; ends the search and never reaches the user."""


@dataclass
class Evaluator:
    """Requests runs and stores all of them in order.

    Recorded trials inform the search from the start. Trials of phase SEARCH among them were made ahead of the
    search, many at a time; each answers one request for a run of its configuration, at no cost.
    """

    space: SearchSpace
    budget: Budget
    recorded: Sequence[Trial] = ()
    objective_is_time: bool = True  # a slow run can be stopped early
    feasible: Callable[[Configuration], bool] = lambda _: True  # whether the launcher can express it
    expected_s: float = 0.0  # expected time of the first run
    corrected: Sequence[Trial] = ()  # earlier trials whose result was changed; the caller appends to it
    stop_at: Callable[[], float | None] = lambda: None  # objective from which a run is useless
    # Called after a run of the original that is slower than its earlier runs; None: there is only one node.
    on_slowdown: Callable[[Trial], None] | None = None
    new_trials: list[Trial] = field(default_factory=list)  # trials of the runs that were requested
    trials: list[Trial] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)  # points of the runs with a time, also of stopped ones
    logs: list[float] = field(default_factory=list)
    failed: dict[Point, str] = field(default_factory=dict)
    stopped: set[Point] = field(default_factory=set)
    minimal: Point | None = None  # best point without settings that do not contribute, for the proof
    _feasible: dict[Point, bool] = field(default_factory=dict)
    _fit: Effects | None = None
    _fitted: int = 0
    _chooses: bool = False  # the search is choosing its answer
    _corrections: int = 0  # number of `corrected` trials that were applied
    _runs: int = 0
    _disturbed_runs: int = 0
    _disturbed: list[bool] = field(default_factory=list)  # whether a run in `points` was disturbed
    _around_s: list[float] = field(default_factory=list)  # overhead of each run: directory and files
    _answers: dict[Configuration, list[Trial]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.take(self.recorded)
        for trial in self.recorded:
            if trial.phase is Phase.SEARCH and trial.outcome is not Outcome.INTERRUPTED:
                self._answers[trial.configuration].append(trial)

    @property
    def original(self) -> Point:
        """Return the point of the unchanged command."""
        return (0,) * len(self.space.factors)

    @property
    def run_s(self) -> float:
        """Estimate the seconds of one more run, including its overhead."""
        walls = [trial.wall_s for trial in self.trials if trial.outcome is not Outcome.REFUSED]
        around_s = median(self._around_s) if self._around_s else 0.0
        return median(walls) + around_s if walls else self.expected_s

    def runs_left(self) -> int:
        """Return the number of runs that fit into the budget."""
        return self.budget.runs_that_fit(self.run_s)

    def is_original_due(self) -> bool:
        """Return whether the original must run again, because the speed of the machine may have changed.

        It is due after some runs, after the first setting with a large gain (a machine that became faster
        looks the same), and on several nodes after some slow runs in a row.
        """
        if all(trial.configuration for trial in self.trials[-_ORIGINAL_EVERY:]):
            return True
        if self.on_slowdown and all(map(any, self.points[-_SLOW_IN_A_ROW:])):
            logs = at_last_speed(self.points, self.logs, self._disturbed)
            originals = self._compared(self.original, logs)[0]
            if originals and min(logs[-_SLOW_IN_A_ROW:]) > median(originals) + _SLOWED:
                return True
        first = next((at for at, point in enumerate(self.points) if any(point)), len(self.points))
        if not first or not all(any(point) for point in self.points[first:]):
            return False
        return min(self.logs[first:], default=inf) < median(self.logs[:first]) - _MUCH

    def is_original_disturbed(self) -> bool:
        """Return whether at least half of the original's runs took much longer than its fastest."""
        logs = [log for log, point in zip(self.logs, self.points, strict=True) if not any(point)]
        return self.objective_is_time and median(logs) > min(logs) + _DISTURBED

    def was_slower(self, point: Point) -> bool:
        """Return whether the median of a point's runs is above the original's."""
        original, logs = self._compared(point, at_last_speed(self.points, self.logs, self._disturbed))
        return bool(logs and original) and median(logs) > median(original)

    def is_separated(self, point: Point, gain: float) -> bool:
        """Return whether a gap separates the runs of a point from slower ones of the original."""
        groups = [[(exp(time), exp(time)) for time in logs] for logs in self._compared(point, self.logs)]
        return all(groups) and separation(*groups)[0] > 1 + gain

    def _compared(self, point: Point, logs: Sequence[float]) -> list[list[float]]:
        """Select from ``logs``, one value for each run, the values of the original and of a point."""
        return [
            [time for run, time in zip(self.points, logs, strict=True) if run == measured]
            for measured in (self.original, point)
        ]

    def weight(self, point: Point) -> int:
        """Return the sum of the weights of a point's settings."""
        return sum(factor.weight for factor, level in zip(self.space.factors, point, strict=True) if level)

    def runs_of(self, point: Point) -> int:
        """Return the number of complete runs of a point."""
        return 0 if point in self.stopped else self.points.count(point)

    def run(self, point: Point) -> Plan[Trial]:
        """Run a point once more. Raises OutOfBudgetError; a KeyboardInterrupt passes through.

        A disturbed run is repeated once, unless most runs on the machine are disturbed.
        """
        configuration = self.space.configuration(point)
        if self._answers[configuration]:
            return self._answers[configuration].pop(0)
        trial = yield from self._measure(point, configuration)
        if self._is_to_repeat(trial):
            with suppress(OutOfBudgetError):
                trial = yield from self._measure(point, configuration)
        self._correct()
        self._enter(trial)
        if self.on_slowdown and not configuration and trial.outcome is Outcome.OK:
            *earlier, last = self._compared(self.original, self.logs)[0]
            if earlier and last > median(earlier) + _SLOWED:
                self.on_slowdown(trial)
        return trial

    def _is_to_repeat(self, trial: Trial) -> bool:
        """Return whether a run seems slow because of other processes, which is the exception here."""
        self._disturbed_runs += trial.disturbed
        self._runs += 1
        is_usual = self._runs > _FEW_RUNS and 2 * self._disturbed_runs > self._runs
        if not trial.disturbed or is_usual:
            return False
        if trial.outcome is not Outcome.OK:
            return self._was_slow(trial)
        best = min(self.logs, default=-inf)
        return trial.objective is not None and trial.objective > 0 and log(trial.objective) > best

    def _measure(self, point: Point, configuration: Configuration) -> Plan[Trial]:
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
        self.new_trials.append(trial)
        self.budget.spend(trial.runs)
        around_s = self.budget.elapsed_s - begun_s - trial.wall_s
        if around_s >= 0:  # negative for a trial that was recorded earlier
            self._around_s.append(around_s)
        if trial.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        return trial

    def _correct(self) -> None:
        """Replace trials whose result was changed: a withdrawn rejection excludes nothing any more."""
        for trial in self.corrected[self._corrections :]:
            self._corrections += 1
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
        """Return whether a point is feasible and contains no point that failed."""
        if point not in self._feasible:
            self._feasible[point] = self.feasible(self.space.configuration(point))
        return self._feasible[point] and not any(
            all(level == bad for level, bad in zip(point, failure, strict=True) if bad)
            for failure in self.failed
        )

    def effects(self) -> Effects:
        """Return the model of all runs; it is fitted once per run, the sizes of its priors less often."""
        if self._fit is None or self._fitted != len(self.points):
            sizes = self._fit.sizes if self._fit and self._fitted >= 30 and len(self.points) % 5 else None
            logs = at_last_speed(self.points, self.logs, self._disturbed)
            self._fit = Effects(self.space, self.points, logs, sizes, sparse=self._chooses)
            self._fitted = len(self.points)
        return self._fit

    def begin_choosing(self) -> None:
        """Use the model that expects most settings to have no effect, from now on."""
        if not self._chooses:
            self._chooses, self._fit = True, None

    def take(self, trials: Iterable[Trial]) -> None:
        """Add recorded trials."""
        for trial in trials:
            if trial.phase in (Phase.OBSERVE, Phase.SEARCH) and trial.outcome is not Outcome.INTERRUPTED:
                self._enter(trial)

    def rejected(self) -> tuple[tuple[Configuration, str], ...]:
        """Return the configurations that failed or were stopped as slow, with the reason."""
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
                self._forget(point)  # the stopped run was slow for another reason
            self.points.append(point)
            self.logs.append(log(objective))
            self._disturbed.append(trial.disturbed)
        elif self._was_slow(trial) and self.logs and any(point):
            self.points.append(point)
            self.logs.append(log(max(trial.at_least or trial.wall_s, 1e-6)))
            self._disturbed.append(trial.disturbed)
            self.stopped.add(point)
        elif any(point):  # failures of the original are handled by the proof
            self.failed[point] = trial.reason or trial.outcome.value

    def _was_slow(self, trial: Trial) -> bool:
        """Return whether a run was stopped because its objective was known to be large."""
        is_known = self.objective_is_time or trial.at_least is not None
        return trial.outcome is Outcome.TIMED_OUT and is_known

    def _forget(self, point: Point) -> None:
        remaining = [at for at, measured in enumerate(self.points) if measured != point]
        self.logs[:] = [self.logs[at] for at in remaining]
        self.points[:] = [self.points[at] for at in remaining]
        self._disturbed[:] = [self._disturbed[at] for at in remaining]
        self.stopped.discard(point)

    def _limit_s(self, point: Point) -> float:
        """Return the time limit, which stops runs that are clearly slower than the best or that hang."""
        if not any(point):
            times_s = [
                trial.wall_s
                for trial in self.trials
                if not trial.configuration and trial.outcome is Outcome.OK
            ]
            return _CAP_OF_ORIGINAL * max(times_s) + _SLACK_OF_ORIGINAL_S if times_s else inf
        if not self.logs:
            return inf
        walls: dict[Configuration, list[float]] = defaultdict(list)
        for trial in self.trials:
            if trial.outcome is Outcome.OK:
                walls[trial.configuration].append(trial.wall_s)
        usual = [median(times) for times in walls.values()]
        if not usual:
            return inf
        if self.objective_is_time:
            return _CAP * min(usual) + _SLACK_S
        return _HANGS * max(usual) + _SLACK_S
