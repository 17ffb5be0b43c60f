"""Launches that may end before their program does: when what they were run for is known."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class EarlyEnd:
    """Asked while a launch runs, and once when it is over: one that came to its early end has not failed.

    ``is_known`` says that nothing more is to be learned from the run. The program may end itself then;
    ``patience_s`` later the keeper ends what is left.
    """

    is_known: Callable[[], bool]
    patience_s: float = 0.0
    every_s: float = 0.1  # between two questions
    _known_since: float | None = field(default=None, init=False)

    def is_due(self) -> bool:
        """Whether the launch is to be ended now."""
        if self._known_since is None and self.is_known():
            self._known_since = time.monotonic()
        return self._known_since is not None and time.monotonic() - self._known_since >= self.patience_s

    def has_come(self) -> bool:
        """Whether the launch, which is over, had come to its early end."""
        return self._known_since is not None or self.is_known()
