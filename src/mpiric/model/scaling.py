"""Result of a scaling study: time of a step, or of a run, by the number of ranks, nodes and threads."""

from mpiric.model.amount import counted
from mpiric.model.dataclass import dataclass


@dataclass(frozen=True, order=True)
class Size:
    """Size of a run."""

    ranks: int
    nodes: int = 1
    threads: int = 1  # threads of each rank

    @property
    def cores(self) -> int:
        """Return the number of CPUs that the ranks and their threads use."""
        return self.ranks * self.threads

    def __str__(self) -> str:
        text = counted(self.ranks, "rank")
        text += f" × {counted(self.threads, 'thread')}" if self.threads > 1 else ""
        return text + (f" on {self.nodes} nodes" if self.nodes > 1 else "")


@dataclass(frozen=True)
class Interval:
    """Estimate with the limits of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SizeResult:
    """Measured size. Speedup and efficiency are relative to the size with the fewest cores."""

    size: Size
    time_s: Interval  # time of a step or of a run
    blocks: int  # number of runs
    speedup: Interval
    efficiency: Interval
    whole_s: float | None = None  # time of the whole run; None if its number of steps is unknown
    oversubscribed: bool = False  # the node has fewer CPUs than ranks and threads
    command: str = ""  # launch line of this size

    @property
    def core_hours(self) -> float:
        """Return the core-hours of a step or of a run."""
        return self.size.cores * self.time_s.value / 3600


@dataclass(frozen=True)
class Factors:
    """Efficiencies of a recorded size, in the terms of the POP model; ``useful`` is the time outside MPI."""

    size: Size
    load_balance: float
    serialisation: float
    transfer: float
    files: float  # share of the time in file operations
    useful: float  # mean share of the time outside MPI: the product of the first three
    instructions_per_s: float = 0.0  # mean rate of a rank; 0 if instructions were not counted
    reference_us: float = 0.0  # median time of the runtime's fixed computation; 0 if it was not timed


@dataclass(frozen=True)
class Prediction:
    """Predicted time of a size that was not run; the interval holds with a probability of 90 %."""

    size: Size
    time_s: Interval


@dataclass(frozen=True)
class Choice:
    """Recommended size for a purpose; ``size`` is None if no measured size fulfils it."""

    purpose: str
    size: Size | None
    sentence: str


@dataclass(frozen=True)
class Scaling:
    """Result of a scaling study."""

    argv: tuple[str, ...]
    unit: str  # "step" or "run"
    is_weak: bool
    results: tuple[SizeResult, ...]  # measured sizes in ascending order of cores
    failed: tuple[tuple[Size, str], ...] = ()  # sizes without a time, each with the reason
    bend: str = ""  # sentence on the bend of the curve, "" without one
    factors: tuple[Factors, ...] = ()  # efficiencies of two recorded sizes, or empty
    causes: tuple[str, ...] = ()  # why the curve bends, the largest loss first
    model: str = ""  # formula of the fitted model
    predictions: tuple[Prediction, ...] = ()
    refusals: tuple[str, ...] = ()  # reasons why times are not predicted
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    elapsed_s: float = 0.0
    core_hours: float = 0.0  # core-hours of all runs of the study
    recipe: str = ""  # file with the recommended size, "" if none was written

    @property
    def recommended(self) -> Choice:
        """Return the cheapest size within the deadline if there is one, else the efficient size."""
        return next(choice for choice in reversed(self.choices[1:]) if choice.size is not None)
