"""Claims of a proof: its stopping rule, the main claim by fresh pairs, and the contribution of each unit."""

from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate
from math import inf, isfinite, sqrt
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Share, Verdict
from mpiric.statistics import rank_betting
from mpiric.statistics.confidence_sequence import (
    SHARE,
    Bounds,
    block_pairs,
    decides,
    fewest_pairs,
    interval_of_bounds,
    separation,
    wins_needed,
)
from mpiric.statistics.rank_betting import Block

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
                "--confidence must be at least 0.5 and below 1, --minimum-effect at least 0 and below 1",
                hint="use the default values, 0.99 and 1%",
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
        block = block_pairs(1 - self.confidence if error is None else error)
        return max(self.min_pairs, block)

    def fewest_pairs(self, error: float | None = None) -> int:
        """Return the least number of pairs that decide one after the other, whatever the scatter of runs."""
        fewest = fewest_pairs(1 - self.confidence if error is None else error)
        return max(self.min_pairs, fewest)


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
        low, high = interval_of_bounds(self.ratios, self._of_pairs(error))
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
            needed = wins_needed(count + more, self._of_pairs(self.error) / 2)
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
        needed = wins_needed(self.rule.max_pairs, self._of_pairs(self.error) / 2)
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


_FEWEST_BLOCKS = 3  # least number of blocks before a unit is given up
# Standard deviations added to the trend: a unit that contributes is given up by bad luck in at most 5 %.
_OPTIMISM = 1.64
# Thresholds of the rank score.
PRESELECTED = 1.2  # the run without the unit is almost the slowest in two rounds
LIKELY = 1.64  # a setting without effect reaches it in 5 %
_LEANS = 1.0  # threshold for a unit that may still be decided


@dataclass
class Contribution:
    """Runs without a unit among runs of the answer; open while ``stopped_because`` is empty.

    Blocks of larger answers with the unit count as well: the hypothesis is that the unit has no effect in any
    of the answers proved so far.
    """

    knobs: tuple[str, ...]
    without: Configuration
    rule: StoppingRule
    error: float  # probability of a wrong claim that the unit contributes
    blocks: list[Block] = field(default_factory=list)
    shown: bool = False
    stopped_because: str = ""
    is_needed: bool = False  # the answer does not run without it
    is_likely: bool = False  # the unit probably contributes, but this is not shown

    def __post_init__(self) -> None:
        self.judge()

    def enter(self, without: Bounds, answers: Sequence[Bounds]) -> None:
        """Add a block: a run without the unit and the runs of the answer of its round."""
        if answers:
            self.blocks.append(tuple(quotient(without, answer) for answer in answers))

    def fail(self, reason: str) -> None:
        """Record that the answer does not run without the unit."""
        self.is_needed, self.stopped_because = True, f"without it: {reason}"

    def judge(self) -> None:
        """Decide whether the unit contributes, or give it up."""
        count = len(self.blocks)
        if self.stopped_because or not count:
            return
        low, high = rank_betting.share_interval(self.blocks, self.error)
        if low > 1 + self.rule.minimum_effect:
            self.shown, self.stopped_because = True, f"shown by {count} runs without it"
        elif high <= 1 + self.rule.minimum_effect:
            self.stopped_because = f"less than {self.rule.minimum_effect:.3g} in {count} runs without it"
        elif count >= self.rule.max_without:
            self.settle()
        elif count >= _FEWEST_BLOCKS and self._futile():
            self.stopped_because = f"nothing shown by {count} runs without it"

    def settle(self, prefix: str = "", threshold: float = LIKELY) -> None:
        """Decide by the runs so far: a unit with a high rank score stays, marked as not shown.

        ``prefix`` begins the reason.
        """
        count = len(self.blocks)
        self.is_likely = self._score >= threshold
        if self.is_likely or count >= _FEWEST_BLOCKS:
            result = "likely, but not shown" if self.is_likely else "nothing shown"
            self.stopped_because = f"{prefix}{result} by {count} runs without it"
        else:
            self.stopped_because = f"{prefix}too few runs without it ({count}) to tell"

    @property
    def is_kept(self) -> bool:
        """Return whether a decided unit stays in the answer."""
        return self.shown or self.is_needed or self.is_likely

    @property
    def would_stay(self) -> bool:
        """Return whether the unit would stay if the runs ended now."""
        return self.is_kept if self.stopped_because else self._score >= LIKELY

    @property
    def leans(self) -> bool:
        """Return whether the runs so far are in favour of the unit."""
        return self._score >= _LEANS

    @property
    def _score(self) -> float:
        """Return the rank score of the runs that exceed the answer's by more than the minimum effect.

        Ranks within blocks, standardised by mean and variance under no effect (van Elteren, Bull. Inst. Int.
        Stat. 37 (1960) 351). It decides which runs are made and which units stay; claims do not use it.
        """
        value = 1 + self.rule.minimum_effect
        return rank_betting.score([(sum(low > value for low, _ in b), len(b)) for b in self.blocks])

    def share(self) -> Share:
        """Return the ratio of the times without and with the unit, its interval and the decision."""
        low, high = rank_betting.share_interval(self.blocks, self.error)
        return Share(
            self.knobs,
            rank_betting.centre(self.blocks),
            low,
            high,
            len(self.blocks),
            self.shown,
            self.stopped_because,
            is_needed=self.is_needed,
            is_likely=self.is_likely,
        )

    def _futile(self) -> bool:
        """Return whether even lucky further runs would hardly make the unit likely."""
        count, limit, score = len(self.blocks), self.rule.max_without, self._score
        drift = (score + _OPTIMISM) / sqrt(count)
        return (score * sqrt(count) + drift * (limit - count)) / sqrt(limit) < LIKELY
