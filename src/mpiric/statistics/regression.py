"""Regression test: comparison of today's runs with runs recorded on another day.

The two groups cannot be paired, so this is the two-sample problem: the ratio is the Hodges-Lehmann estimate
(median of all quotients now ÷ then), its interval comes from inverting the exact Mann-Whitney test (Hodges
and Lehmann 1963; Moses 1965). The only assumption about the noise is that it is the same on both days.
"""

from collections.abc import Sequence
from functools import cache
from math import comb
from statistics import median

from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Verdict


@dataclass(frozen=True)
class Regression:
    """Comparison of two days; ``ratio`` is now ÷ then, so that above 1 the program has become slower."""

    verdict: Verdict
    ratio: float
    low: float
    high: float
    then_runs: int
    now_runs: int
    confidence: float
    minimum_effect: float


def compare_days(
    then: Sequence[float], now: Sequence[float], confidence: float = 0.99, minimum_effect: float = 0.01
) -> Regression:
    """Compare two groups of objectives; a verdict requires the interval to exceed the minimum effect."""
    quotients = sorted(new / old for new in now for old in then)
    cut = _cut(len(then), len(now), 1.0 - confidence)
    low = quotients[cut] if cut >= 0 else 0.0
    high = quotients[-1 - cut] if cut >= 0 else float("inf")
    verdict = Verdict.NO_DIFFERENCE
    if low > 1.0 + minimum_effect:
        verdict = Verdict.SLOWER
    elif high < 1.0 / (1.0 + minimum_effect):
        verdict = Verdict.FASTER
    return Regression(verdict, median(quotients), low, high, len(then), len(now), confidence, minimum_effect)


def runs_needed(then_runs: int, confidence: float = 0.99) -> int | None:
    """Return the fewest runs of today for which an interval exists; None if the other day has too few."""
    return next((runs for runs in range(2, 61) if _cut(then_runs, runs, 1.0 - confidence) >= 0), None)


def _cut(first: int, second: int, error: float) -> int:
    """Return the number of quotients to cut at each end: the largest k with P(U ≤ k) ≤ error/2, or -1."""
    total, below, cut = comb(first + second, first), 0, -1
    for u in range(first * second // 2 + 1):
        below += _arrangements(first, second, u)
        if below > total * error / 2:
            break
        cut = u
    return cut


@cache
def _arrangements(first: int, second: int, u: int) -> int:
    """Count the orderings with Mann-Whitney statistic u by recurrence (Mann and Whitney 1947)."""
    if u < 0:
        return 0
    if first == 0 or second == 0:
        return int(u == 0)
    return _arrangements(first - 1, second, u - second) + _arrangements(first, second - 1, u)
