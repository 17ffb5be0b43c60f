"""Main claim of a proof: whether the answer is faster or slower than the original, by fresh pairs."""

from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate
from math import inf, isfinite, sqrt
from statistics import median

from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Verdict
from mpiric.statistics import confidence_sequence
from mpiric.statistics.confidence_sequence import Bounds
from mpiric.statistics.separation import SHARE, decides, separation
from mpiric.statistics.stopping_rule import StoppingRule

_LIKELY = 0.75  # least share of pairs in which an answer that is called likely is faster
_QUANTILE = 2.58  # normal quantile of the upper end of the share of wins beyond which more pairs are futile


@dataclass
class PairedClaim:
    """Pairs of (original, answer) and the verdict; ``stopped_because`` is empty until the claim is closed."""

    rule: StoppingRule
    error: float  # two-sided
    pairs: list[tuple[Bounds, Bounds]] = field(default_factory=list)
    ratios: list[Bounds] = field(default_factory=list)  # original ÷ answer of each pair
    verdict: Verdict | None = None
    stopped_because: str = ""
    missing_pairs: int = 0  # least number of further pairs that decide an open claim
    block: int = 0  # number of pairs of the first round, if it is a block in random order
    separated: Bounds = (0.0, inf)  # ratios between which no gap separates the runs of the block

    def enter(self, original: Bounds, answer: Bounds) -> None:
        """Add a pair."""
        self.pairs.append((original, answer))
        self.ratios.append(quotient(original, answer))

    def interval(self, error: float) -> tuple[float, float]:
        """Return the interval of the ratio with two-sided ``error``."""
        low, high = confidence_sequence.interval_of_bounds(self.ratios, self._of_pairs(error))
        if self.block and decides(self.block, error):
            return max(low, self.separated[0]), min(high, self.separated[1])
        return low, high

    def end_block(self) -> None:
        """Compare the runs of the first round; nothing follows from it if one of them failed."""
        if self.block == len(self.pairs):
            originals, answers = zip(*self.pairs, strict=True)
            self.separated = separation(originals, answers)

    def _of_pairs(self, error: float) -> float:
        """Return the error of the pairs, which have a part of the wealth if there is a block."""
        return error * (1 - SHARE) if self.block else error

    def judge(self) -> None:
        """Set the verdict, or stop without one if none can be expected any more."""
        count, effect = len(self.pairs), self.rule.minimum_effect
        if self.stopped_because or count < self.rule.min_pairs:
            return
        low, high = self.interval(self.error)
        slowest, fastest = 1 - effect, 1 + effect
        if low > fastest or high < slowest:
            self.verdict = Verdict.FASTER if low > fastest else Verdict.SLOWER
            self.stopped_because = f"decided after {count} pairs"
        elif slowest <= low and high <= fastest:
            self.stopped_because = f"any difference is below {effect:.3g} after {count} pairs"
        elif count >= self.rule.max_pairs:
            self.stopped_because = f"not decided by the {count} pairs allowed"
        elif self._futile():
            self.stopped_because = f"more pairs would hardly decide it, after {count}"

    def run_out(self) -> None:
        """Stop because the budget is used up; undecided unless the interval already rules out a gain."""
        count, fewest = len(self.pairs), self.rule.fewest_pairs(self._of_pairs(self.error))
        note = f"; at least {fewest} are needed" if count < fewest else ""
        self.stopped_because = f"the budget ended after {count} pairs{note}"
        if self.interval(self.error)[1] <= 1 + self.rule.minimum_effect:
            return
        wins, losses = self._wins()
        majority = max(wins, losses)
        self.missing_pairs = max(1, self.rule.max_pairs - count)
        for more in range(1, self.rule.max_pairs - count + 1):
            needed = confidence_sequence.wins_needed(count + more, self._of_pairs(self.error) / 2)
            if needed is not None and majority + more >= needed and count + more >= self.rule.min_pairs:
                self.missing_pairs = more
                break
        is_likely = count > 0 and wins >= _LIKELY * count
        self.verdict = Verdict.LIKELY if is_likely else Verdict.UNDECIDED

    def _wins(self) -> tuple[int, int]:
        """Count the pairs in which the answer is faster, and slower, by more than the minimum effect."""
        effect = self.rule.minimum_effect
        faster = sum(low > 1 + effect for low, _ in self.ratios)
        return faster, sum(high < 1 - effect for _, high in self.ratios)

    def _futile(self) -> bool:
        """Return whether even lucky further pairs would not decide by ``max_pairs``."""
        count, remaining = len(self.pairs), self.rule.max_pairs - len(self.pairs)
        needed = confidence_sequence.wins_needed(self.rule.max_pairs, self._of_pairs(self.error) / 2)
        if needed is None:
            return True
        return all(wins + _highest_share(wins, count) * remaining < needed for wins in self._wins())


def quotient(numerator: Bounds, denominator: Bounds) -> Bounds:
    """Return the bounds of a quotient of two objectives."""
    low = numerator[0] / denominator[1] if isfinite(denominator[1]) else 0.0
    return low, numerator[1] / denominator[0]


def _highest_share(wins: float, count: int) -> float:
    """Return the upper end of Wilson's interval for the share of wins."""
    share, z = wins / count, _QUANTILE
    spread = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (share + z * z / (2 * count) + spread) / (1 + z * z / count)


def typical_ratio(pairs: Sequence[tuple[Bounds, Bounds]]) -> float:
    """Return the estimate of original ÷ answer; 1 without pairs.

    That is the median of the pairs. If the second run of that pair was stopped, only a bound of it is known;
    the estimate is then the quotient of the medians of both groups, as far as the bound allows it.
    """
    if not pairs:
        return 1.0
    ratios = [quotient(original, answer) for original, answer in pairs]
    low, high = median(low for low, _ in ratios), median(high for _, high in ratios)
    if low == high:
        return low
    originals, answers = zip(*pairs, strict=True)
    return min(max(_typical(originals) / _typical(answers), low), high)


def _typical(runs: Sequence[Bounds]) -> float:
    """Return the median of runs, of which stopped ones are known by their bounds.

    The weight of a stopped run goes to all longer ones (redistribution to the right, Efron 1967).
    """
    ordered = sorted(runs)
    weights = [1.0] * len(ordered)
    for at, (low, high) in enumerate(ordered):
        longer = len(ordered) - at - 1
        if low < high and longer:
            for later in range(at + 1, len(ordered)):
                weights[later] += weights[at] / longer
            weights[at] = 0.0
    return next(
        low for (low, _), sum_ in zip(ordered, accumulate(weights), strict=True) if 2 * sum_ >= len(runs)
    )
