"""Numbers that benchmarks report: shares with bounds, ratios of interleaved runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, isfinite

from mpiric.statistics.confidence_sequence import centre, median_interval

_STEPS = 60  # bisection steps; the error is far below the printed digits


def upper_bound(wrong: int, tried: int, confidence: float = 0.95) -> float:
    """Clopper and Pearson's one-sided upper bound of a share (Biometrika 26, 1934)."""
    if not 0 <= wrong <= tried:
        raise ValueError(f"{wrong} of {tried}")
    if wrong == tried:
        return 1.0
    low, high = wrong / tried if tried else 0.0, 1.0
    for _ in range(_STEPS):
        share = (low + high) / 2
        if _at_most(wrong, tried, share) > 1 - confidence:
            low = share
        else:
            high = share
    return high


def _at_most(wrong: int, tried: int, share: float) -> float:
    """P(X ≤ wrong) for X binomial."""
    return sum(comb(tried, k) * share**k * (1 - share) ** (tried - k) for k in range(wrong + 1))


@dataclass(frozen=True)
class Ratio:
    """Median of paired quotients with a 95 % interval: (0, infinite) with too few pairs."""

    middle: float
    low: float
    high: float

    @property
    def interval(self) -> list[float] | None:
        """The interval for JSON, which has no infinity; None with too few pairs."""
        return [round(self.low, 4), round(self.high, 4)] if isfinite(self.high) else None


def ratio(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """Return the ratio above ÷ below of two series that ran in the same rounds."""
    quotients = [numerator / denominator for numerator, denominator in zip(above, below, strict=True)]
    return Ratio(centre(quotients), *median_interval(quotients, 0.05))


def best_of(times: Mapping[str, Sequence[float]]) -> str:
    """Return the name with the smallest median."""
    return min(times, key=lambda name: (centre(times[name]), name))
