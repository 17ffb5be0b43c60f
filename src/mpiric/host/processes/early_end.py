"""Launches that may end before their program does: when what they were run for is known."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class EarlyEnd:
    """Asked while a launch runs, and once when it is over: one that came to its early end has not failed.

    ``is_known`` says that nothing more is to be learned from the run. ``patience_s`` later the keeper ends
    it, unless the program ``ends_itself`` by then, whose status says nothing. ``is_hopeless`` says that
    what is still to come is of no use: the keeper ends it then.
    """

    is_known: Callable[[], bool]
    patience_s: float = 0.0
    ends_itself: bool = False
    every_s: float = 0.1  # between two questions
    is_hopeless: Callable[[], bool] = lambda: False
    _known_since: float | None = field(default=None, init=False)

    def is_due(self) -> bool:
        """Whether the launch is to be ended now."""
        if self._known_since is None and self.is_known():
            self._known_since = time.monotonic()
        if self._known_since is None:
            return self.is_hopeless()
        return time.monotonic() - self._known_since >= self.patience_s

    def has_come(self) -> bool:
        """Whether the launch, which nobody else ended, has ended itself early."""
        return self.ends_itself and self.is_known()


def after(seconds: float) -> EarlyEnd:
    """An early end some time after now."""
    begun = time.monotonic()
    return EarlyEnd(lambda: time.monotonic() - begun >= seconds)
