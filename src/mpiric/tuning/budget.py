"""Budget: how much time and how many runs a tune may take."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mpiric.model.errors import MpiricError

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 30 * 86400.0


def parse_duration(text: str) -> float:
    """``90s``, ``10m``, ``1h30m``, ``2.5h`` or a bare number of seconds → seconds. Raises MpiricError."""
    compact = text.strip().lower()
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", compact, re.ASCII)
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", compact, re.ASCII):
        seconds = float(compact)
    elif parts and "".join(number + unit for number, unit in parts) == compact and len(compact) <= 40:
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    else:
        raise MpiricError(f"not a duration: {text!r}", hint="write it as 90s, 10m or 1h30m")
    if not 0 < seconds <= _LONGEST_S:
        raise MpiricError(f"a duration must be between 0 and 30 days: {text!r}", hint="for example 10m")
    return seconds


def show_duration(seconds: float) -> str:
    """``0.31 s``, ``42 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.3g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")


@dataclass
class Budget:
    """Counts down from the moment it is made; ``seconds`` or ``runs`` may be None for no limit."""

    seconds: float | None = None
    runs: int | None = None
    clock: Callable[[], float] = time.monotonic
    reserve_s: Callable[[], float] = lambda: 0.0  # of the seconds, what is kept for later at this moment
    runs_done: int = 0
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was made."""
        return self.clock() - self._started

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

    def share(self, fraction: float) -> "Budget":
        """A budget of its own with this fraction of what is left, from now on."""
        left = self.remaining_runs
        return Budget(
            None if self.seconds is None else self.remaining_s * fraction,
            None if left is None else int(left * fraction),
            self.clock,
        )
