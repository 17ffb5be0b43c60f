"""Tuned: result of `mpiric tune`."""

from collections.abc import Mapping
from dataclasses import field

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.evidence import Evidence, Share, Verdict, WholeCheck
from mpiric.model.job import Job, Launch
from mpiric.model.knob import FilesEffect
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.pace import MarkPair
from mpiric.model.run import Split


@dataclass(frozen=True)
class PartRatio:
    """Ratio original ÷ tuned of a part of a run, with a 95 % interval that is valid at any stopping time."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class SplitGain:
    """Medians of the parts of the proof's runs, and the ratios of the parts that its pairs compare."""

    original: Split
    tuned: Split
    start: PartRatio
    main: PartRatio  # ratio of the time per mark, if marks count steps
    # (factor, gain): the gain of a run whose main part is longer by the factor.
    longer: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class SymptomChange:
    """Change of a number that a setting should improve."""

    what: str  # "page faults a second and rank"
    before: float
    after: float
    noticed: str  # text with the value before: "232,000 page faults per second and rank"
    afterwards: str
    moved: bool  # improved by more than the variation between runs
    # Property of the program that explains other symptoms and is not expected to change.
    is_cause: bool = False


@dataclass(frozen=True)
class RunTimes:
    """Distribution of one run's time, in seconds of the mean rank; the sum is the run time."""

    start_s: float  # time until MPI_Init; includes the end if that is unknown
    computing_s: float
    waiting_s: float  # waiting for other ranks in MPI
    moving_s: float  # remaining time in MPI
    kernel_s: float  # upper bound of the system time outside MPI and files
    files_s: float
    end_s: float | None = None  # time after MPI_Finalize


@dataclass(frozen=True)
class KnobChange:
    """Knob of the result, with the reason why it helps."""

    knob: str
    value: str
    why: str
    note: str = ""
    share: Share | None = None  # contribution to the gain; None without a proof
    site: bool = False  # applies to every program on this machine
    afterwards: tuple[SymptomChange, ...] = ()  # symptoms that it should improve, before and after

    @property
    def noticed(self) -> str:
        """Return the symptoms of the original command, "" without a record."""
        return "; ".join(change.noticed for change in self.afterwards)


@dataclass(frozen=True)
class Rejected:
    """Configuration that cannot be used, with the reason."""

    configuration: Configuration
    reason: str


@dataclass(frozen=True)
class CannotMatter:
    """Knob that was not tried, because it cannot affect this program."""

    knob: str
    why: str


@dataclass(frozen=True)
class Timing:
    """Median objective of a number of runs: seconds, unless the user chose another objective."""

    median_s: float
    runs: int


@dataclass(frozen=True)
class BestSoFar:
    """Best configuration of a tune without a proof; the ratio is an estimate."""

    configuration: Configuration
    expected_ratio: float
    launch: Launch
    pairs: int = 0  # pairs measured by a proof
    wins: int = 0  # pairs in which it was faster
    missing_pairs: int = 0  # minimum number of pairs that a proof still needs
    missing_s: float = 0.0  # duration of these pairs


WHOLE_RUN, STEPS, FORECAST = "whole run", "steps", "forecast"


@dataclass(frozen=True)
class TunedMarks:
    """Calls between which runs were compared."""

    pair: MarkPair
    why: str
    growth: float = 0.0  # relative increase of the time between consecutive marks
    first_s: float = 0.0  # time of the first mark in the original run, since the end of MPI_Init
    last_s: float = 0.0


@dataclass(frozen=True)
class FileTimes:
    """Bytes written by a run; medians of the times until its exit and until all data was on the servers."""

    bytes_written: int
    exit_s: float
    safe_s: float


@dataclass(frozen=True)
class Tuned:
    """Result of a tune: configuration, proof, and instructions for use without mpiric."""

    job: Job
    mpi: MpiLibrary
    machine: str  # description of the machine in one line
    evidence: Evidence | None  # None if the budget ended before a proof
    original: Timing
    tuned: Timing | None
    changes: tuple[KnobChange, ...]
    launch: Launch | None  # command that does not need mpiric; None: see `launch_why`
    launch_why: str = ""
    exports: tuple[str, ...] = ()  # sentences about files written for use without mpiric
    resume_options: tuple[str, ...] = ("--resume",)  # options of `mpiric tune` that continue this tune
    # Pattern → MPI-IO hint → (requested value, value that the library used or None if it ignored the hint).
    hints: Mapping[str, Mapping[str, tuple[str, str | None]]] = field(default_factory=dict)
    # Times of the result's runs, else of the original's; None if nothing was written.
    io: FileTimes | None = None
    files_effect: FilesEffect = FilesEffect.SAME  # most severe effect of the changes
    objective: str = "wall"  # "wall", "main", "core-hours", "output:REGEX" or "command:CMD"
    maximise: bool = False  # evidence and trials then contain reciprocals
    best_so_far: BestSoFar | None = None  # only for a tune that ended before a proof
    rejected: tuple[Rejected, ...] = ()
    findings: tuple[Finding, ...] = ()
    tried: tuple[str, ...] = ()  # knobs that were tried
    unjudged: tuple[str, ...] = ()  # subset of the tried knobs: no run had the original's output
    not_reached: tuple[str, ...] = ()  # knobs that might help but were not tried within the budget
    nothing_tried: str = ""  # reason why no configuration was tried, "" otherwise
    cannot_matter: tuple[CannotMatter, ...] = ()
    runs: int = 0
    core_hours: float = 0.0  # core hours of these runs
    elapsed_s: float = 0.0
    around_runs_s: float = 0.0  # part of it for the preparation of directories and the evaluation of runs
    recipe: str = ""  # path, "" if nothing was saved
    store: str = ""  # directory of the tune
    interrupted: bool = False
    notes: tuple[str, ...] = field(default=())
    scope: str = WHOLE_RUN  # measured part of the run that verdict and ratio refer to
    marks: TunedMarks | None = None  # None: see `marks_why`
    marks_why: str = ""
    # Predicted times of the original and the tuned run with the requested length.
    forecast_s: tuple[float, float] | None = None
    # Check of a complete run of the tuned command; None if every run was complete.
    whole: WholeCheck | None = None
    stopped_trials: int = 0  # number of runs that were stopped early
    split: SplitGain | None = None  # None if the runtime could not observe the runs of the proof
    times: tuple[RunTimes, RunTimes] | None = None  # (original, tuned), from one recorded run each

    @property
    def needless(self) -> dict[str, list[str]]:
        """Return the knobs that cannot matter by reason."""
        by_reason: dict[str, list[str]] = {}
        for excluded in self.cannot_matter:
            by_reason.setdefault(excluded.why, []).append(excluded.knob)
        return by_reason

    def shown(self, value: float) -> float:
        """Convert a value of evidence or trials to the user's objective."""
        return 1.0 / value if self.maximise else value

    @property
    def verdict(self) -> Verdict:
        """Return the verdict of the proof, or the reason for its absence."""
        if self.evidence is not None:
            return self.evidence.verdict
        return Verdict.UNDECIDED if self.best_so_far or self.interrupted else Verdict.NO_CANDIDATE
