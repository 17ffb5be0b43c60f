"""Narrator: what a workflow tells while it runs; the command line shows it, tests ignore it."""

from typing import Protocol

from mpiric.model.finding import Finding
from mpiric.model.trial import Trial


class Narrator(Protocol):
    """Everything is optional reading: nothing a workflow says here changes what it does."""

    def phase(self, title: str) -> None:
        """A new part of the work begins."""
        ...

    def say(self, text: str) -> None:
        """One line worth keeping on the screen."""
        ...

    def found(self, finding: Finding) -> None:
        """Something noticed, told at once."""
        ...

    def trial(self, trial: Trial, best: float | None, remaining_s: float) -> None:
        """A trial ended; ``best`` is the best objective of the search so far."""
        ...


class Silence:
    """Tells nothing."""

    def phase(self, title: str) -> None:
        """Ignore."""

    def say(self, text: str) -> None:
        """Ignore."""

    def found(self, finding: Finding) -> None:
        """Ignore."""

    def trial(self, trial: Trial, best: float | None, remaining_s: float) -> None:
        """Ignore."""
