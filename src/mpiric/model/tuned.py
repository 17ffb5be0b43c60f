"""Tuned: all that `mpiric tune` has to say at its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Share, Verdict
from mpiric.model.finding import Finding
from mpiric.model.job import Job
from mpiric.model.knob import FilesEffect
from mpiric.model.launch import Launch
from mpiric.model.marks import MarkPair
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.split_gain import SplitGain
from mpiric.model.symptom import RunTimes, SymptomChange
from mpiric.model.whole_check import WholeCheck


@dataclass(frozen=True)
class KnobChange:
    """One knob of the result and why it helps."""

    knob: str
    value: str
    why: str
    note: str = ""
    share: Share | None = None  # of the gain; None where nothing was proved
    site: bool = False  # it would hold for every program here
    afterwards: tuple[SymptomChange, ...] = ()  # what it is meant to move, as recorded before and after

    @property
    def noticed(self) -> str:
        """What was seen of the command as it is, "" where nothing was recorded."""
        return "; ".join(each.noticed for each in self.afterwards)


@dataclass(frozen=True)
class Rejected:
    """A configuration that cannot be used, and what it did."""

    configuration: Configuration
    reason: str


@dataclass(frozen=True)
class CannotMatter:
    """A knob that was not tried as it cannot matter to what the program does."""

    knob: str
    why: str


@dataclass(frozen=True)
class Timing:
    """Median objective over a number of runs: seconds, unless the user chose another objective."""

    median_s: float
    runs: int


@dataclass(frozen=True)
class BestSoFar:
    """The best configuration of a tune without a proof; its ratio is an estimate and proves nothing."""

    configuration: Configuration
    expected_ratio: float
    launch: Launch
    pairs: int = 0  # pairs measured by a proof
    wins: int = 0  # pairs in which it was faster
    missing_pairs: int = 0  # pairs that a proof still needs, at least
    missing_s: float = 0.0  # duration of the missing pairs


WHOLE_RUN, STEPS, FORECAST = "whole run", "steps", "forecast"


@dataclass(frozen=True)
class TunedMarks:
    """The calls between which runs were compared."""

    pair: MarkPair
    why: str
    growth: float = 0.0  # of the time from one to the next, over what was seen
    first_s: float = 0.0  # when the original comes to them, from the end of MPI_Init
    last_s: float = 0.0


@dataclass(frozen=True)
class FileTimes:
    """What a run writes, and the medians of the time to its exit and until all of it is on the servers."""

    bytes_written: int
    exit_s: float
    safe_s: float


@dataclass(frozen=True)
class Tuned:
    """The result of a tune: what was found, what proves it, and how to use it without mpiric."""

    job: Job
    mpi: MpiLibrary
    machine: str  # one line that says where it ran
    evidence: Evidence | None  # None when the budget ended before a proof
    original: Timing
    tuned: Timing | None
    changes: tuple[KnobChange, ...]
    launch: Launch | None  # the command that needs no mpiric; None with `launch_why`
    launch_why: str = ""
    exports: tuple[str, ...] = ()  # sentences: files written for use without mpiric, and how they are used
    resume_options: tuple[str, ...] = ("--resume",)  # options of `mpiric tune` that continue this tune
    hints: Mapping[str, Mapping[str, tuple[str, str | None]]] = field(
        default_factory=dict
    )  # pattern → hint of MPI-IO → as asked, and as the library had it in force (None: it has none of it)
    io: FileTimes | None = (
        None  # of the answer's runs, else of the original's; None where nothing was written
    )
    files_effect: FilesEffect = FilesEffect.SAME  # the worst of what is changed
    objective: str = "wall"  # "wall", "main", "core-hours", "output:REGEX" or "command:CMD"
    maximise: bool = False  # evidence and trials then hold reciprocals, which are small when it is good
    best_so_far: BestSoFar | None = None  # of a tune that ended before a proof
    rejected: tuple[Rejected, ...] = ()
    findings: tuple[Finding, ...] = ()
    tried: tuple[str, ...] = ()  # knobs that were tried
    unjudged: tuple[str, ...] = ()  # subset of the knobs: no run had the original's output
    not_reached: tuple[str, ...] = ()  # knobs that might help and were not tried before the budget ended
    nothing_tried: str = ""  # why no configuration was tried, "" where one was
    cannot_matter: tuple[CannotMatter, ...] = ()
    runs: int = 0
    core_hours: float = 0.0  # of these runs
    elapsed_s: float = 0.0
    around_runs_s: float = 0.0  # of these, on directories and on looking at what runs left
    recipe: str = ""  # path, "" when nothing was saved
    store: str = ""  # directory of the tune
    interrupted: bool = False
    notes: tuple[str, ...] = field(default=())
    scope: str = WHOLE_RUN  # what verdict and ratio are of
    marks: TunedMarks | None = None  # None with `marks_why`
    marks_why: str = ""
    forecast_s: tuple[float, float] | None = None  # of the original and the tuned run of the length asked for
    whole: WholeCheck | None = None  # of the tuned command run to its end; None where every run was whole
    stopped_trials: int = 0  # runs that ended before their program did
    split: SplitGain | None = None  # None where the runtime could not look at the runs of the proof
    times: tuple[RunTimes, RunTimes] | None = None  # as it was and tuned, of one recorded run each

    @property
    def needless(self) -> dict[str, list[str]]:
        """Reason → knobs that cannot matter for it."""
        by_reason: dict[str, list[str]] = {}
        for each in self.cannot_matter:
            by_reason.setdefault(each.why, []).append(each.knob)
        return by_reason

    def shown(self, value: float) -> float:
        """A value of evidence or trials as the user means it."""
        return 1.0 / value if self.maximise else value

    @property
    def verdict(self) -> Verdict:
        """Return the verdict of the proof, or the reason for its absence."""
        if self.evidence is not None:
            return self.evidence.verdict
        return Verdict.UNDECIDED if self.best_so_far or self.interrupted else Verdict.NO_CANDIDATE
