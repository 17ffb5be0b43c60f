"""What one unit of the answer contributes: a setting, or several that must move together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Share
from mpiric.tuning.proof import rank_betting
from mpiric.tuning.proof.paired_claim import Bounds, hopeful, quotient
from mpiric.tuning.proof.rank_betting import Block
from mpiric.tuning.proof.stopping_rule import StoppingRule

_FEWEST_BLOCKS = 3  # before a unit is given up
_HOPE = 1.28  # standard deviations: a unit that contributes is given up by bad luck one time in ten at most


@dataclass
class Contribution:
    """Runs without a unit, among runs of the whole answer; open until there is a ``stopped_because``."""

    knobs: tuple[str, ...]
    without: Configuration
    rule: StoppingRule
    error: float  # that it is wrongly said to contribute
    blocks: list[Block] = field(default_factory=list)
    shown: bool = False
    stopped_because: str = ""
    is_needed: bool = False  # the answer does not run without it

    def enter(self, without: Bounds, answers: Sequence[Bounds]) -> None:
        """Add a block: a run without the unit and those of the answer beside it."""
        if answers:
            self.blocks.append(tuple(quotient(without, answer) for answer in answers))

    def fail(self, reason: str) -> None:
        """Note that the answer does not run without it."""
        self.is_needed, self.stopped_because = True, f"without it: {reason}"

    def judge(self, others: int) -> None:
        """Find whether it contributes, or give it up; ``others``: runs of the answer in its next block."""
        count = len(self.blocks)
        if self.stopped_because or not count:
            return
        low, high = rank_betting.share_interval(self.blocks, self.error)
        if low > 1 + self.rule.minimum_effect:
            self.shown, self.stopped_because = True, f"shown by {count} runs without it"
        elif high <= 1 + self.rule.minimum_effect:
            self.stopped_because = f"less than {self.rule.minimum_effect:.3g} in {count} runs without it"
        elif count >= self.rule.max_without or (count >= _FEWEST_BLOCKS and self._futile(others)):
            self.stopped_because = f"nothing shown by {count} runs without it"

    def close(self) -> None:
        """Give it up where the proof has ended and nothing speaks for it; else it stays undecided."""
        if self._log_wealth <= 0:
            self.stopped_because = f"nothing shown by {len(self.blocks)} runs without it"

    @property
    def _log_wealth(self) -> float:
        value = 1 + self.rule.minimum_effect
        return rank_betting.log_wealth([(sum(q[0] > value for q in b), len(b)) for b in self.blocks])

    def share(self) -> Share:
        """What it is worth."""
        low, high = rank_betting.share_interval(self.blocks, self.error)
        ratio = rank_betting.centre(self.blocks)
        count = len(self.blocks)
        return Share(
            self.knobs, ratio, low, high, count, self.shown, self.stopped_because, is_needed=self.is_needed
        )

    def _futile(self, others: int) -> bool:
        """Whether even a lucky rest would hardly show it. Stops early, never claims anything."""
        value, count = 1 + self.rule.minimum_effect, len(self.blocks)
        chance = hopeful(rank_betting.slower_share(self.blocks, value) * count, count, _HOPE)
        gain = (self.rule.max_without - count) * rank_betting.growth(others, round(chance, 2))
        return self._log_wealth + gain < -log(self.error)
