"""What one unit of the answer contributes: a setting, or several that must move together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Share
from mpiric.tuning.proof import rank_betting
from mpiric.tuning.proof.paired_claim import Bounds, quotient
from mpiric.tuning.proof.rank_betting import Block
from mpiric.tuning.proof.stopping_rule import StoppingRule

_FEWEST_BLOCKS = 3  # before a unit is given up
_HOPE = (
    1.64  # standard deviations: a unit that contributes is given up by bad luck one time in twenty at most
)
PRESELECTED = 1.2  # of the rank score: nearly the slowest in two rounds
LIKELY = 1.64  # of the rank score: a setting that does nothing comes so far one time in twenty
_LEANS = 1.0  # the same, of a unit that may still be decided


@dataclass
class Contribution:
    """Runs without a unit, among runs of the whole answer; open until there is a ``stopped_because``.

    Blocks of larger answers that held the unit go on counting: what is bet on is that it does nothing in any
    of the answers proved so far.
    """

    knobs: tuple[str, ...]
    without: Configuration
    rule: StoppingRule
    error: float  # that it is wrongly said to contribute
    blocks: list[Block] = field(default_factory=list)
    shown: bool = False
    stopped_because: str = ""
    is_needed: bool = False  # the answer does not run without it
    is_likely: bool = False  # that it contributes, which is not shown

    def __post_init__(self) -> None:
        self.judge()

    def enter(self, without: Bounds, answers: Sequence[Bounds]) -> None:
        """Add a block: a run without the unit and the runs of the answer of its round."""
        if answers:
            self.blocks.append(tuple(quotient(without, answer) for answer in answers))

    def fail(self, reason: str) -> None:
        """Note that the answer does not run without it."""
        self.is_needed, self.stopped_because = True, f"without it: {reason}"

    def judge(self) -> None:
        """Find whether it contributes, or give it up."""
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

    def settle(self, ended: str = "", least: float = LIKELY) -> None:
        """Decide by what there is: a unit that looks useful is kept, and marked as not shown."""
        count = len(self.blocks)
        self.is_likely = self._score >= least
        if self.is_likely or count >= _FEWEST_BLOCKS:
            what = "likely, but not shown" if self.is_likely else "nothing shown"
            self.stopped_because = f"{ended}{what} by {count} runs without it"
        else:
            self.stopped_because = f"{ended}too few runs without it ({count}) to tell"

    @property
    def is_kept(self) -> bool:
        """Whether it stays in the answer, once it is decided."""
        return self.shown or self.is_needed or self.is_likely

    @property
    def would_stay(self) -> bool:
        """Whether it stays, should the runs end now."""
        return self.is_kept if self.stopped_because else self._score >= LIKELY

    @property
    def leans(self) -> bool:
        """Whether it looks as if it contributed."""
        return self._score >= _LEANS

    @property
    def _score(self) -> float:
        """How far its runs are above the answer's by more than the minimum effect, in standard deviations.

        The ranks within blocks, each against its mean and variance under no effect (van Elteren, Bull. Inst.
        Int. Stat. 37 (1960) 351). For deciding what is run and kept, never for a claim.
        """
        value = 1 + self.rule.minimum_effect
        return rank_betting.score([(sum(low > value for low, _ in b), len(b)) for b in self.blocks])

    def share(self) -> Share:
        """What it is worth."""
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
        """Whether even a lucky rest would hardly make it likely. Stops early, never claims anything."""
        count, most, score = len(self.blocks), self.rule.max_without, self._score
        drift = (score + _HOPE) / sqrt(count)
        return (score * sqrt(count) + drift * (most - count)) / sqrt(most) < LIKELY
