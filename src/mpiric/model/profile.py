"""Profile: evaluated record. Behaviour: the numbers of it by which knobs are chosen.

Times are in seconds, sizes in bytes, shares 0 to 1, ranks of MPI_COMM_WORLD. A number of Behaviour whose name
ends in ``_bound`` is a share of a rank's time from MPI_Init to MPI_Finalize; the maximum over the ranks. It
is an upper bound of the possible gain: time in MPI includes waiting for other ranks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from math import inf
from typing import TYPE_CHECKING

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.job import Launch
from mpiric.model.machine import Core
from mpiric.model.storage import FileLayout

if TYPE_CHECKING:  # needs numpy, which the ranks' process keeper may not have
    from mpiric.model.mapping import OrderProposal


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """Use of an MPI function, sum over the ranks."""

    name: str
    kind: str  # class in spec/mpi/recording.toml: "send", "collective", …
    calls: int
    bytes: int
    time_s: float
    waited_s: float  # time in the barrier before the call, if it was measured
    shortest_s: float  # shortest call, 0 if none was timed
    longest_s: float
    ranks: int  # number of ranks that called it
    slowest_rank: int  # rank that spent most time in it
    slowest_s: float


@dataclass(frozen=True, slots=True)
class SizeUse:
    """Calls with messages in a range of sizes, sum over ranks and functions."""

    low_bytes: int
    high_bytes: int
    calls: int
    bytes: int
    time_s: float


@dataclass(frozen=True, slots=True)
class CommunicatorUse:
    """Use of a communicator or window; communicators of a single rank are merged by name."""

    label: str  # unique in a profile
    size: int
    kind: str  # "communicator", "intercommunicator" or "window"
    ranks: tuple[int, ...]  # members with a record
    calls: int
    bytes: int
    time_s: float


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """Use of a collective on one communicator: calls and bytes summed over ranks."""

    name: str
    communicator: str
    calls: int
    bytes: int
    time_s: float
    waited_s: float  # waiting for other ranks, measured or estimated: see Efficiencies.method


@dataclass(frozen=True, slots=True)
class RegionUse:
    """Section of the program, sum over the ranks."""

    name: str
    entries: int
    time_s: float
    mpi_s: float


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """Activity of consecutive ranks in each time span, as shares of its time; the rest is computation."""

    first_rank: int
    last_rank: int
    point_to_point: tuple[float, ...]
    collective: tuple[float, ...]
    other_mpi: tuple[float, ...]
    files: tuple[float, ...]
    region: tuple[int, ...]  # region with the largest share: position in Profile.regions


@dataclass(frozen=True, slots=True)
class TimelineUse:
    """Activity over the run, since MPI_Init of each rank."""

    span_s: float
    rows: tuple[TimelineRow, ...]  # empty for a record without timelines


@dataclass(frozen=True, slots=True)
class RankUse:
    """Location of a rank, and the distribution of its time."""

    rank: int
    host: str
    numa_node: int
    cpu: int  # first CPU
    affinity: str  # list of CPUs that it may use
    state: str
    wall_s: float
    mpi_s: float
    collective_s: float
    point_to_point_s: float
    io_s: float
    peak_bytes: int  # peak resident memory
    regions: tuple[tuple[str, float], ...]  # regions of the program, with the time of each
    threads: int = 1  # lower bound of the threads that are in MPI simultaneously; times in MPI are their mean

    @property
    def time_s(self) -> float:
        """Return the time of all its threads that use MPI."""
        return self.wall_s * self.threads

    @property
    def useful_s(self) -> float:
        """Return the time outside MPI."""
        return max(0.0, self.wall_s - self.mpi_s)


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """Efficiencies of POP's multiplicative model: parallel = load_balance × serialisation × transfer."""

    parallel: float
    load_balance: float
    communication: float
    serialisation: float
    transfer: float
    method: str  # method that separated waiting from transfer


@dataclass(frozen=True, slots=True)
class FileTotal:
    """Use of a file, sum over the ranks."""

    path: str
    interface: str
    ranks: int  # number of ranks that used it
    opens: int
    reads: int
    writes: int
    bytes_read: int
    bytes_written: int
    time_s: float
    metadata: int
    small: int
    unaligned: int
    sequential: int
    created_by: int | None = None  # first rank whose open would create the file
    nodes: int = 0  # number of nodes with ranks that used it
    # Pattern of accesses that bypass stdio: "segmented", "strided", "repeated", "random".
    pattern: str | None = None
    layout: FileLayout | None = None  # layout after the run
    opened: tuple[str, ...] = ()
    largest: int = 0  # largest access in bytes
    close_s: float = 0.0
    locks: int = 0
    lock_s: float = 0.0
    lines: int = 0
    flushes: int = 0
    ranks_in_one_stripe: bool | None = None  # two ranks wrote to one stripe; None: unknown


@dataclass(frozen=True, slots=True)
class Message:
    """Exact point-to-point traffic from one rank to another, or between two nodes."""

    source: int
    destination: int
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SiteUse:
    """Calls at one call site of the program, sum over the ranks."""

    place: str
    function: str
    calls: int
    bytes: int
    time_s: float


@dataclass(frozen=True)
class Remedy:
    """Changed command that should cure a failure."""

    launch: Launch
    values: Mapping[str, str] = field(default_factory=dict)  # knobs to set


@dataclass(frozen=True, slots=True)
class Advice:
    """Finding with its possible gain and the knobs that affect it."""

    finding: Finding
    gain_share: float  # upper bound of the saving, as a share of the run time; 0 if unknown
    # Saving predicted by the model `basis`, as a share of the run time; None: only a trial can show it.
    expected_share: float | None
    basis: str
    knobs: tuple[str, ...]
    commands: tuple[str, ...]  # commands that apply it or show more; CMD if the user's command is unknown
    source: str
    effect_of: tuple[str, ...] = ()  # ids of findings of the same profile that cause this one
    explains_run: bool = False  # failure or wrong start: its times mean nothing
    remedy: Remedy | None = None  # changed command that should work

    @property
    def promise(self) -> float:
        """Return the gain for ranking: the model's value, or the upper bound without a model."""
        return self.gain_share if self.expected_share is None else self.expected_share


@dataclass(frozen=True, slots=True)
class NodeTopology:
    """Cores of the node on which mpiric ran; the record contains only CPU numbers."""

    host: str
    cores: tuple[Core, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Data for reports, exports and advice."""

    command: str
    mpi: str
    # Settings that the library reports: `transport`, and algorithms of collectives.
    library: Mapping[str, str]
    world_size: int
    wall_s: float  # time of the slowest rank from MPI_Init to MPI_Finalize
    mpi_share: float
    efficiencies: Efficiencies
    functions: tuple[FunctionUse, ...]
    sizes: tuple[SizeUse, ...]
    communicators: tuple[CommunicatorUse, ...]
    collectives: tuple[CollectiveUse, ...]
    regions: tuple[RegionUse, ...]
    timeline: TimelineUse
    ranks: tuple[RankUse, ...]
    files: tuple[FileTotal, ...]
    sites: tuple[SiteUse, ...]
    p2p: tuple[Message, ...]
    one_sided: tuple[Message, ...]
    nodes: tuple[str, ...]  # host names in the order of their first rank
    node_traffic: tuple[Message, ...]  # traffic between positions in `nodes`
    numbers: Mapping[str, float]  # derived numbers by name, input of the rules for advice
    advice: tuple[Advice, ...] = ()
    shape: NodeTopology | None = None
    # Label of the library that the user selected for the program, "" for the program's own.
    asked_mpi: str = ""
    notes: tuple[str, ...] = field(default=())  # missing or lost data
    order: "OrderProposal | None" = None  # rank order, if the traffic was mapped
    waiting_place: str = ""  # call at which ranks wait longest for the busiest one, "" without call sites


SHORT_S = 0.1  # a shorter run has no reliable shares and rates
MISSING_PARTICIPANT = "missing-participant"  # id of the finding on a rank for which others wait
TIME_OUTSIDE = "time-outside-mpi"  # id of the finding on time before MPI_Init and after MPI_Finalize
PER_STEP = "time per step"  # quantity: seconds between two calls that count the program's steps


@dataclass(frozen=True, slots=True)
class QuantityChange:
    """Values of one quantity in two profiles."""

    name: str
    before: float
    after: float

    @property
    def ratio(self) -> float | None:
        """Return the value after divided by the value before; None if the value before is 0."""
        return self.after / self.before if self.before else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences between two profiles."""

    labels: tuple[str, str]
    profiles: tuple[Profile, Profile]
    headline: tuple[QuantityChange, ...]  # run time and efficiencies
    functions: tuple[QuantityChange, ...]  # seconds per rank, the largest difference first
    calls: tuple[QuantityChange, ...]  # functions whose number of calls differs
    sizes: tuple[QuantityChange, ...]  # bytes moved, by message size
    advice_gone: tuple[str, ...]
    advice_new: tuple[str, ...]


# Relative distance below which a message may be on either side of a threshold: headers count too.
_ALIKE = 1 / 16


@dataclass(frozen=True)
class MessageSizes:
    """Number of messages whose sizes are between two bounds (inclusive)."""

    low_bytes: float
    high_bytes: float
    messages: int

    def side_of(self, threshold_bytes: float) -> float:
        """Return 0 if all messages are larger, infinity if all are smaller, else the threshold."""
        if threshold_bytes < self.low_bytes * (1 - _ALIKE):
            return 0.0
        return inf if threshold_bytes > self.high_bytes * (1 + _ALIKE) else threshold_bytes


@dataclass(frozen=True)
class CollectiveCalls:
    """Calls of one collective with similar message sizes on communicators of one size."""

    name: str  # "allreduce"
    ranks: int
    low_bytes: int
    high_bytes: int
    calls: int  # maximum over the ranks
    bound: float  # share of a rank's time


@dataclass(frozen=True)
class Carriers:
    """Transports of the messages, derived from library, settings and machine.

    A reach is "node" or "network".
    """

    transport: str = ""  # name that the library uses
    ucx: frozenset[str] = frozenset()  # reaches whose messages may use UCX
    without_messages: frozenset[str] = frozenset()  # collectives within a node that send no messages


@dataclass(frozen=True)
class Behaviour:
    """Behaviour of the program: numbers by name, and the sizes of its messages."""

    numbers: Mapping[str, float]
    collectives: tuple[CollectiveCalls, ...] = ()
    sizes: Mapping[str, tuple[MessageSizes, ...]] = field(default_factory=dict)  # key: reach, or "ucx"
    carriers: Carriers = field(default_factory=Carriers)
    files: tuple[FileTotal, ...] = ()  # relative paths for files below the working directory

    def bound(self, names: Iterable[str]) -> float:
        """Return the sum of several bounds, at most 1; an unknown bound counts as 1."""
        return min(1.0, sum(self.numbers.get(name, 1.0) for name in names))

    def cuts(self, reach: str, threshold_bytes: float) -> tuple[float, ...]:
        """Return the side of the threshold for each message size; equal results mean equal effects."""
        return tuple(size.side_of(threshold_bytes) for size in self.sizes.get(reach, ()))
