"""Budget of a tune: time and runs."""

import time
from collections.abc import Callable
from dataclasses import field

from mpiric.model.dataclass import dataclass

_MOST_RUNS = 100_000


@dataclass
class Budget:
    """Time and runs that may still be spent; None: no limit."""

    seconds: float | None = None
    runs: int | None = None
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    reserve_s: Callable[[], float] = lambda: 0.0  # seconds that are reserved for later, as of now
    runs_done: int = 0
    spent_s: float = 0.0  # seconds spent before this object was created
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the object was created, plus those spent before."""
        return self.spent_s + self.clock() - self._started

    @property
    def remaining_s(self) -> float:
        """Return the remaining seconds, never below 0; infinite without a limit."""
        if self.seconds is None:
            return float("inf")
        return max(0.0, self.seconds - self.elapsed_s - self.reserve_s())

    @property
    def remaining_runs(self) -> int | None:
        """Return the remaining runs; None without a limit."""
        return None if self.runs is None else max(0, self.runs - self.runs_done)

    def spend(self, runs: int = 1) -> None:
        """Count runs."""
        self.runs_done += runs

    def fits(self, run_s: float, runs: int = 1) -> bool:
        """Return whether ``runs`` more runs of about ``run_s`` seconds each fit."""
        return (
            self.remaining_runs is None or self.remaining_runs >= runs
        ) and self.remaining_s >= run_s * runs

    def runs_that_fit(self, run_s: float) -> int:
        """Return the number of runs of about ``run_s`` seconds that fit, at most 100,000."""
        by_time = _MOST_RUNS if self.seconds is None or run_s <= 0 else int(self.remaining_s / run_s)
        by_runs = _MOST_RUNS if self.remaining_runs is None else self.remaining_runs
        return max(0, min(_MOST_RUNS, by_time, by_runs))
