"""Evidence: paired trials of two configurations and the verdict. Recipe: the saved answer of a tune."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from math import inf, prod

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.pace import MarkPair


class Verdict(str, Enum):
    """Result of a proof, relative to the minimum effect."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    LIKELY = "likely, not proved"  # faster in most pairs when the budget ended
    UNDECIDED = "not decided"  # the budget ended while the interval still allowed a difference
    NO_CANDIDATE = "no candidate found"  # no setting seemed faster, so that no comparison was made

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
    """Contribution of a setting of the answer, or of several that are only valid together.

    The ratio is the time of the answer without the setting divided by the time of the answer.
    """

    knobs: tuple[str, ...]
    ratio: float  # 1.71: the program takes 71 % longer without it
    low: float  # confidence interval at the evidence's confidence level, valid at any stopping time
    high: float
    runs: int  # number of runs without it, each among runs of the full answer
    shown: bool  # the contribution exceeds the minimum effect
    why: str = ""  # method of the decision, or reason why there is none; "" if undecided
    is_needed: bool = False  # the answer does not run without it
    is_likely: bool = False  # not proved but kept, because most of the evidence supports it
    is_estimated: bool = False  # estimated by the model of all runs of the search, with a 95 % interval


@dataclass(frozen=True)
class Evidence:
    """Result of a proof. ``ratio`` is original ÷ candidate, the median over the pairs; above 1: faster."""

    configuration: Configuration
    verdict: Verdict
    ratio: float
    low: float  # confidence interval of the verdict, valid at any stopping time
    high: float
    pairs: tuple[tuple[float, float], ...]  # objective of (original, candidate)
    confidence: float  # probability that neither the verdict nor a share is wrong
    minimum_effect: float  # 0.01: differences below 1 % are not reported
    stopped_because: str
    failures: tuple[str, ...] = ()  # discarded runs of the proof, with the reason
    ci95: tuple[float, float] = (0.0, inf)  # interval of the ratio at 95 %
    shares: tuple[Share, ...] = ()  # only for an answer with several settings
    # Pairs whose second run was stopped; the slower value of such a pair is the limit.
    stopped: tuple[int, ...] = ()
    missing_pairs: int = 0  # minimum number of further pairs that would decide an open verdict, if all agree

    def share_of(self, knob: str) -> Share | None:
        """Return the share of the unit that contains a knob; the share of a single unit is the whole gain."""
        knobs = tuple(self.configuration.as_dict())
        if not self.shares and self.verdict is Verdict.FASTER and knob in knobs:
            return Share(knobs, self.ratio, self.low, self.high, len(self.pairs), shown=True)
        return next((share for share in self.shares if knob in share.knobs), None)

    @property
    def ended(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the objectives of the completed runs of the original and of the candidate."""
        of_original = tuple(o for n, (o, c) in enumerate(self.pairs) if n not in self.stopped or o < c)
        of_candidate = tuple(c for n, (o, c) in enumerate(self.pairs) if n not in self.stopped or c < o)
        everything = tuple(zip(*self.pairs, strict=True)) or ((), ())
        return of_original or everything[0], of_candidate or everything[1]

    @property
    def wins(self) -> int:
        """Return the number of pairs in which the candidate is faster by more than the minimum effect."""
        return sum(original > candidate * (1 + self.minimum_effect) for original, candidate in self.pairs)

    @property
    def interacts(self) -> bool:
        """Return whether the product of the shares differs from the total gain: the settings interact."""
        shown = [share for share in self.shares if share.shown]
        if len(shown) < 2:
            return False
        return prod(s.low for s in shown) > self.high or prod(s.high for s in shown) < self.low


class WholeVerdict(str, Enum):
    """Result of the check of a complete run."""

    NOT_RUN = "not run"
    # Exited with status 0 and printed no NaN; no reference to compare with.
    NO_REFERENCE = "ran, no reference"
    AGREES = "agrees"  # agrees with a complete run of the original
    DIFFERS = "differs"  # differs from the original, or failed: the recipe is not applied again


@dataclass(frozen=True)
class WholeCheck:
    """Verdict, and its reason in one sentence."""

    verdict: WholeVerdict = WholeVerdict.NOT_RUN
    why: str = ""


@dataclass(frozen=True)
class ProvedMarks:
    """Marks of the proof of a recipe, for comparison with complete runs; times as (original, tuned)."""

    pair: MarkPair
    start_s: tuple[float, float]
    per_mark_s: tuple[float, float]
    prints_nan: bool = False  # the original prints NaN before the last mark, so that NaN is not an error
    inputs: tuple[str, ...] = ()  # files that ranks read, by paths below the working directory


FORMAT = 2


@dataclass(frozen=True)
class Fingerprint:
    """Machine, MPI library and program that a recipe was made for; compared field by field."""

    machine: Mapping[str, str]  # cpu, cores, numa nodes, memory, ...
    mpi: Mapping[str, str]  # implementation, version, ABI family
    program: Mapping[str, str]  # name, hash of the executable, arguments, ranks, launcher


@dataclass(frozen=True)
class Recipe:
    """Configuration with evidence and fingerprints."""

    name: str
    configuration: Configuration
    fingerprint: Fingerprint
    evidence: Evidence | None
    command: tuple[str, ...]  # the user's command, for information
    created: str  # ISO 8601, UTC
    reasons: Mapping[str, str] = field(default_factory=dict)  # knob → reason why it helps
    checked_output: str = "learned"  # "learned", "command" or "none"
    mpiric_version: str = ""
    scope: str = ""  # "steps" or "forecast" if trials ended at a mark, "" if they were complete runs
    # Check of a complete run of the tuned command; None if all trials were complete.
    whole: WholeCheck | None = None
    marks: ProvedMarks | None = None  # marks that trials ended at
    policy: tuple[str, ...] = ()  # lines of the flat policy for `collectives = "policy"`
    measured_in: str = ""  # "slurm job", "no job"; "" if the recipe does not contain it
    rank_order: tuple[int, ...] = ()  # slot of each rank, for the knob `rank-order`
    parameters: Mapping[str, str] = field(default_factory=dict)  # {NAME} in the command → baseline value
    removed: tuple[str, ...] = ()  # knobs in the file that this version of mpiric no longer has
    format: int = FORMAT
