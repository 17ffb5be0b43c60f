"""Evidence: paired trials of two configurations and what they prove."""

from dataclasses import dataclass
from enum import Enum
from math import inf, prod

from mpiric.model.configuration import Configuration


class Verdict(str, Enum):
    """What the pairs prove beyond the minimum effect."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    LIKELY = "likely, not proved"  # faster in most pairs when the budget ended
    UNDECIDED = "not decided"  # the budget ended while the interval still allowed a difference
    NO_CANDIDATE = "no candidate found"  # nothing seemed faster, so that nothing was compared

    @property
    def is_claim(self) -> bool:
        """Return whether the verdict claims a difference."""
        return self in (Verdict.FASTER, Verdict.SLOWER)

    @property
    def is_open(self) -> bool:
        """Return whether more pairs may still decide the verdict."""
        return self in (Verdict.LIKELY, Verdict.UNDECIDED)


@dataclass(frozen=True)
class Share:
    """What a setting of the answer is worth, or several that move together: answer without it ÷ answer."""

    knobs: tuple[str, ...]
    ratio: float  # 1.71: without it the program takes 71 % longer
    low: float  # interval of the ratio at the evidence's confidence, whenever the proof stopped
    high: float
    runs: int  # without it, each among runs of the whole answer
    shown: bool  # that it contributes more than the minimum effect
    why: str = ""  # how it was shown, or why it was not; "" when nothing had decided it in the end
    is_needed: bool = False  # the answer does not run without it
    is_likely: bool = False  # not shown, but kept: most of the evidence speaks for it
    is_estimated: bool = False  # by the model of all runs of the search, with its interval at 95 %


@dataclass(frozen=True)
class Evidence:
    """``ratio`` is original ÷ candidate (above 1 the candidate is faster), the median over the pairs."""

    configuration: Configuration
    verdict: Verdict
    ratio: float
    low: float  # interval that the verdict rests on, valid at whatever moment the proof stopped
    high: float
    pairs: tuple[tuple[float, float], ...]  # objective of (original, candidate)
    confidence: float  # that no claim made here is wrong: of verdict and shares together
    minimum_effect: float  # 0.01: a difference below 1 % is not called
    stopped_because: str
    failures: tuple[str, ...] = ()  # runs of the proof that had to be thrown away, and why
    ci95: tuple[float, float] = (0.0, inf)  # the same at 95 %
    shares: tuple[Share, ...] = ()  # of an answer with several settings
    stopped: tuple[int, ...] = ()  # pairs whose second run was stopped: of the slower one they hold the limit
    missing_pairs: int = 0  # minimum for a decision of an open verdict, if all pairs agree

    def share_of(self, knob: str) -> Share | None:
        """Share of the unit that a knob belongs to; of a single unit it is the whole gain."""
        knobs = tuple(self.configuration.as_dict())
        if not self.shares and self.verdict is Verdict.FASTER and knob in knobs:
            return Share(knobs, self.ratio, self.low, self.high, len(self.pairs), shown=True)
        return next((share for share in self.shares if knob in share.knobs), None)

    @property
    def ended(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Objectives of the original and of the candidate in those runs that came to their end."""
        of_original = tuple(o for n, (o, c) in enumerate(self.pairs) if n not in self.stopped or o < c)
        of_candidate = tuple(c for n, (o, c) in enumerate(self.pairs) if n not in self.stopped or c < o)
        everything = tuple(zip(*self.pairs, strict=True)) or ((), ())
        return of_original or everything[0], of_candidate or everything[1]

    @property
    def wins(self) -> int:
        """Pairs in which the candidate is faster by more than the minimum effect."""
        return sum(original > candidate * (1 + self.minimum_effect) for original, candidate in self.pairs)

    @property
    def interacts(self) -> bool:
        """Whether the settings' shares multiply to something else than the whole: they belong together."""
        shown = [share for share in self.shares if share.shown]
        if len(shown) < 2:
            return False
        return prod(s.low for s in shown) > self.high or prod(s.high for s in shown) < self.low
