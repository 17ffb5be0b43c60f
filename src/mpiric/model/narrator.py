"""Narrator: progress reports of a workflow. The command line shows them, tests ignore them."""

from typing import Protocol

from mpiric.model.finding import Finding
from mpiric.model.trial import Trial


class Narrator(Protocol):
    """Receiver of progress reports. It cannot influence the workflow."""

    def phase(self, title: str) -> None:
        """Report the start of a new part of the work."""

    def say(self, text: str) -> None:
        """Report a line that stays on the screen."""

    def found(self, finding: Finding) -> None:
        """Report a finding immediately."""

    def trial(self, trial: Trial, best: float | None, remaining_s: float) -> None:
        """Report the end of a trial; ``best`` is the best objective of the search so far."""


class Silence:
    """Narrator that ignores all reports."""

    def phase(self, title: str) -> None:
        """Ignore."""

    def say(self, text: str) -> None:
        """Ignore."""

    def found(self, finding: Finding) -> None:
        """Ignore."""

    def trial(self, trial: Trial, best: float | None, remaining_s: float) -> None:
        """Ignore."""
