"""Stopping rule: when a proof decides or gives up, and how its error budget is divided."""

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.statistics import confidence_sequence, separation

_COMEBACK = 0.1  # share of the error that is reserved for proving a setting that was dropped too early


@dataclass(frozen=True)
class Errors:
    """Probabilities of a wrong claim in the proof of one answer."""

    main: float  # two-sided error of the claim that the answer is faster or slower
    unit: float = 0.0  # error of the claim that a unit contributes, for each unit


@dataclass(frozen=True)
class StoppingRule:
    """Thresholds by which a proof decides or gives up."""

    confidence: float = 0.99  # probability that all claims of a proof are right
    minimum_effect: float = 0.01  # smallest relative difference that is called
    min_pairs: int = 5
    max_pairs: int = 100
    original_failures: int = 3  # failed runs of the original after which the proof gives up
    max_without: int = 24  # runs without a unit after which it is given up

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1 or not 0 <= self.minimum_effect < 1:
            raise MpiricError(
                "confidence must be between 0.5 and 1, the minimum effect between 0 and 1",
                hint="the usual values are 0.99 and 0.01",
            )
        if not 1 <= self.min_pairs <= self.max_pairs:
            raise MpiricError("a proof needs 1 ≤ min_pairs ≤ max_pairs")

    def errors(self, units: int = 1, *, comeback: bool = False) -> Errors:
        """Divide the error for an answer with this number of units, and for smaller ones derived from it.

        With one unit the main claim has the total error. With several, main claim and units have half each,
        except for a tenth reserved for a ``comeback``, the proof of a unit that was dropped too early.
        """
        total = 1 - self.confidence
        if units < 2:
            return Errors(total)
        part = total * (_COMEBACK if comeback else 1 - _COMEBACK) / 2
        return Errors(part, part / units)

    def clear_pairs(self, error: float | None = None) -> int:
        """Return the number of pairs that decide if the difference exceeds the scatter of runs."""
        block = separation.block_pairs(1 - self.confidence if error is None else error)
        return max(self.min_pairs, block)

    def fewest_pairs(self, error: float | None = None) -> int:
        """Return the least number of pairs that decide one after the other, whatever the scatter of runs."""
        fewest = confidence_sequence.fewest_pairs(1 - self.confidence if error is None else error)
        return max(self.min_pairs, fewest)
