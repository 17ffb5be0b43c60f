"""Time limits for a scheduler that does not answer, and intervals between queries."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Patience:
    """Pauses between queries, and the longest wait for a server that is away."""

    first_s: float = 1.0
    longest_s: float = 15.0  # a server has thousands of users
    controller_s: float = 1800.0
    sleep: Callable[[float], None] = field(default_factory=lambda: time.sleep)
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)

    def attempts(self) -> Iterator[None]:
        """Yield once for each attempt, with growing pauses, until the patience ends."""
        began, pause = self.clock(), self.first_s
        while True:
            yield
            if self.clock() - began > self.controller_s:
                return
            self.sleep(pause)
            pause = min(self.longest_s, pause * 2)
