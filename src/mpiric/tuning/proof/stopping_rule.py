"""Stopping rule: when a proof decides, when it gives up, and how its one budget of error is shared."""

from dataclasses import dataclass

from mpiric.model.errors import MpiricError
from mpiric.tuning.proof import confidence_sequence

_COMEBACK = 0.1  # of the error, kept for proving a setting that was dropped too early


@dataclass(frozen=True)
class Errors:
    """Chances of a wrong claim in the proof of one answer."""

    main: float  # two-sided: that the answer is called faster or slower
    unit: float = 0.0  # that a unit is said to contribute, for each unit


@dataclass(frozen=True)
class StoppingRule:
    """The rule by which a proof decides or gives up."""

    confidence: float = 0.99  # that nothing a proof claims is wrong
    minimum_effect: float = 0.01  # 0.01: a difference below 1 % is never called
    min_pairs: int = 5
    max_pairs: int = 100
    original_failures: int = 3  # failed runs of the original in the whole proof before it gives up
    max_without: int = 24  # runs without a unit before it is given up

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1 or not 0 <= self.minimum_effect < 1:
            raise MpiricError(
                "confidence must be between 0.5 and 1, the minimum effect between 0 and 1",
                hint="the usual values are 0.99 and 0.01",
            )
        if not 1 <= self.min_pairs <= self.max_pairs:
            raise MpiricError("a proof needs 1 ≤ least pairs ≤ most pairs")

    def errors(self, units: int = 1, *, comeback: bool = False) -> Errors:
        """Shares of the error for an answer with so many units, and for smaller ones that follow from it.

        One unit leaves everything to the main claim. With several, main claim and units get half each, but
        for a tenth that is kept for a comeback.
        """
        whole = 1 - self.confidence
        if units < 2:
            return Errors(whole)
        part = whole * (_COMEBACK if comeback else 1 - _COMEBACK) / 2
        return Errors(part, part / units)

    def fewest_pairs(self, error: float | None = None) -> int:
        """How many pairs a proof takes at the least; with fewer nothing can be called."""
        fewest = confidence_sequence.fewest_pairs(1 - self.confidence if error is None else error)
        return max(self.min_pairs, fewest)
