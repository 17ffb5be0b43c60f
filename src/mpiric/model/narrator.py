"""Narrator: what a workflow tells while it runs; the command line shows it, tests ignore it."""

from typing import Protocol

from mpiric.model.finding import Finding
from mpiric.model.trial import Trial


class Narrator(Protocol):
    """Progress of a workflow as it reports it; nothing reported changes what it does."""

    def phase(self, title: str) -> None:
        """Report that a new part of the work begins."""
        ...

    def say(self, text: str) -> None:
        """Report a line worth keeping on the screen."""
        ...

    def found(self, finding: Finding) -> None:
        """Report a finding at once."""
        ...

    def trial(self, trial: Trial, best: float | None, remaining_s: float) -> None:
        """Report the end of a trial; ``best`` is the best objective of the search so far."""
        ...


class Silence:
    """A narrator that reports nothing."""

    def phase(self, title: str) -> None:
        """Ignore."""

    def say(self, text: str) -> None:
        """Ignore."""

    def found(self, finding: Finding) -> None:
        """Ignore."""

    def trial(self, trial: Trial, best: float | None, remaining_s: float) -> None:
        """Ignore."""
