"""Budget: how much time and how many runs a tune may take."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Budget:
    """Time and runs that may still be spent; None stands for no limit."""

    seconds: float | None = None
    runs: int | None = None
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    reserve_s: Callable[[], float] = lambda: 0.0  # of the seconds, what is kept for later at this moment
    runs_done: int = 0
    spent_s: float = 0.0  # before it was made
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was made, and those spent before."""
        return self.spent_s + self.clock() - self._started

    @property
    def remaining_s(self) -> float:
        """Seconds left, never below 0; infinite without a limit."""
        if self.seconds is None:
            return float("inf")
        return max(0.0, self.seconds - self.elapsed_s - self.reserve_s())

    @property
    def remaining_runs(self) -> int | None:
        """Runs left; None without a limit."""
        return None if self.runs is None else max(0, self.runs - self.runs_done)

    def spend(self, runs: int = 1) -> None:
        """Take note of runs made."""
        self.runs_done += runs

    def fits(self, run_s: float, runs: int = 1) -> bool:
        """Whether ``runs`` more runs of about ``run_s`` seconds each can still be made."""
        left = self.remaining_runs
        return (left is None or left >= runs) and self.remaining_s >= run_s * runs

    def runs_that_fit(self, run_s: float, most: int = 100_000) -> int:
        """How many runs of about ``run_s`` seconds can still be made, at most ``most``."""
        by_time = most if self.seconds is None or run_s <= 0 else int(self.remaining_s / run_s)
        left = self.remaining_runs
        return max(0, min(most, by_time, most if left is None else left))
