"""Contribution of a unit of the answer: a setting, or several that must change together."""

from collections.abc import Sequence
from dataclasses import field
from math import sqrt

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Share
from mpiric.statistics import rank_betting
from mpiric.statistics.confidence_sequence import Bounds
from mpiric.statistics.paired_claim import quotient
from mpiric.statistics.rank_betting import Block
from mpiric.statistics.stopping_rule import StoppingRule

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
