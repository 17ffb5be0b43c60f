"""Launches that end before their program does, because the required data is complete."""

import time
from collections.abc import Callable
from dataclasses import field

from mpiric.model.dataclass import dataclass


@dataclass
class EarlyEnd:
    """Condition for ending a launch early. Such a launch does not count as failed.

    ``is_known``: nothing more can be learned from the run. The keeper ends it ``patience_s`` later, unless
    the program ``ends_itself`` by then; its exit status is ignored. ``is_hopeless``: the remaining run is
    useless, so that the keeper ends it immediately.
    """

    is_known: Callable[[], bool]
    patience_s: float = 0.0
    ends_itself: bool = False
    every_s: float = 0.1  # interval between checks
    is_hopeless: Callable[[], bool] = lambda: False
    _known_since: float | None = field(default=None, init=False)

    def is_due(self) -> bool:
        """Return whether the launch must be ended now."""
        if self._known_since is None and self.is_known():
            self._known_since = time.monotonic()
        if self._known_since is None:
            return self.is_hopeless()
        return time.monotonic() - self._known_since >= self.patience_s

    def has_come(self) -> bool:
        """Return whether the launch, which was not terminated, has ended itself early."""
        return self.ends_itself and self.is_known()


def after(seconds: float) -> EarlyEnd:
    """Return an early end after a fixed time."""
    start_s = time.monotonic()
    return EarlyEnd(lambda: time.monotonic() - start_s >= seconds)
