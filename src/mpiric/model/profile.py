"""Profile: what a record means. Times in seconds, sizes in bytes, shares 0 to 1, ranks those of the world."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mpiric.model.finding import Finding
from mpiric.model.machine import Core
from mpiric.model.storage import FileLayout

if TYPE_CHECKING:  # numpy, which an ordinary user's keeper of ranks may have to do without
    from mpiric.model.mapped_ranks import OrderProposal


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """One MPI function, summed over ranks."""

    name: str
    kind: str  # class in spec/mpi/recording.toml: "send", "collective", …
    calls: int
    bytes: int
    time_s: float
    waited_s: float  # in the barrier before the call, when that was measured
    shortest_s: float  # of one call, 0 when none was timed
    longest_s: float
    ranks: int  # that called it
    slowest_rank: int  # that spent most time in it
    slowest_s: float


@dataclass(frozen=True, slots=True)
class SizeUse:
    """Calls that move a size of message, summed over ranks and functions."""

    low_bytes: int
    high_bytes: int
    calls: int
    bytes: int
    time_s: float


@dataclass(frozen=True, slots=True)
class CommunicatorUse:
    """One communicator or window; those of a single rank stand together under their name."""

    label: str  # unique in a profile
    size: int
    kind: str  # "communicator", "intercommunicator" or "window"
    ranks: tuple[int, ...]  # members that recorded
    calls: int
    bytes: int
    time_s: float


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """One collective function on one communicator: calls and bytes summed over ranks."""

    name: str
    communicator: str
    calls: int
    bytes: int
    time_s: float
    waited_s: float  # for the others, measured or estimated: see Efficiencies.method


@dataclass(frozen=True, slots=True)
class RegionUse:
    """A stretch of the program, summed over ranks."""

    name: str
    entries: int
    time_s: float
    mpi_s: float


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """What neighbouring ranks did in each span of the run: shares of its time; the rest is their own work."""

    first_rank: int
    last_rank: int
    point_to_point: tuple[float, ...]
    collective: tuple[float, ...]
    other_mpi: tuple[float, ...]
    files: tuple[float, ...]
    region: tuple[int, ...]  # that most of them were in: position in Profile.regions


@dataclass(frozen=True, slots=True)
class TimelineUse:
    """The course of the run, from each rank's own MPI_Init."""

    span_s: float
    rows: tuple[TimelineRow, ...]  # none in a record without timelines


@dataclass(frozen=True, slots=True)
class RankUse:
    """One rank: where it sat and what its time went into."""

    rank: int
    host: str
    numa_node: int
    cpu: int  # the one it began on
    affinity: str  # list of CPUs it may use
    state: str
    wall_s: float
    mpi_s: float
    collective_s: float
    point_to_point_s: float
    io_s: float
    peak_bytes: int  # resident
    regions: tuple[tuple[str, float], ...]  # the program's own, with the time of each
    threads: int = 1  # in MPI at once, at least; times in MPI are their mean

    @property
    def time_s(self) -> float:
        """Time of all its threads that are in MPI."""
        return self.wall_s * self.threads

    @property
    def useful_s(self) -> float:
        """Time outside MPI."""
        return max(0.0, self.wall_s - self.mpi_s)


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """POP's multiplicative model: parallel = load_balance × serialisation × transfer."""

    parallel: float
    load_balance: float
    communication: float
    serialisation: float
    transfer: float
    method: str  # how waiting was told from transfer


@dataclass(frozen=True, slots=True)
class FileTotal:
    """One file, summed over ranks."""

    path: str
    interface: str
    ranks: int  # that used it
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
    created_by: int | None = (
        None  # the rank whose open was the first that makes the file where it is not there
    )
    nodes: int = 0  # with ranks that used it
    pattern: str | None = None  # of accesses past stdio: "segmented", "strided", "repeated", "random"
    layout: FileLayout | None = None  # read after the run
    opened: tuple[str, ...] = ()
    largest: int = 0  # bytes of an access
    close_s: float = 0.0
    locks: int = 0
    lock_s: float = 0.0
    lines: int = 0
    flushes: int = 0
    ranks_in_one_stripe: bool | None = None  # two ranks wrote to one stripe; None: cannot be told


@dataclass(frozen=True, slots=True)
class Message:
    """Exact point-to-point traffic from one rank to another, or between two nodes."""

    source: int
    destination: int
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SiteUse:
    """Calls from one place in the program, summed over ranks."""

    place: str
    function: str
    calls: int
    bytes: int
    time_s: float


@dataclass(frozen=True, slots=True)
class Advice:
    """A finding with what it may be worth and which knobs of mpiric act on it."""

    finding: Finding
    gain_share: float  # of the run time that it could save at the very most; 0 when unknown
    expected_share: (
        float | None
    )  # of the run time that it would save by the model `basis`; None: a trial tells
    basis: str
    knobs: tuple[str, ...]
    commands: tuple[str, ...]  # that apply it, or show more; CMD where the user's own is not known
    source: str
    effect_of: tuple[str, ...] = ()  # ids of findings of the same profile that bring this one about

    @property
    def promise(self) -> float:
        """The gain to rank by: the model's value where there is one, else the upper bound."""
        return self.gain_share if self.expected_share is None else self.expected_share


@dataclass(frozen=True, slots=True)
class NodeTopology:
    """The cores of the node on which mpiric ran: the record itself names CPUs only by number."""

    host: str
    cores: tuple[Core, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything that reports, exports and advice are made of."""

    command: str
    mpi: str
    library: Mapping[str, str]  # what it says it uses: `transport`, and the algorithm of a collective
    world_size: int
    wall_s: float  # of the slowest rank, from MPI_Init to MPI_Finalize
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
    nodes: tuple[str, ...]  # host names, in the order of their first rank
    node_traffic: tuple[Message, ...]  # positions in `nodes`
    numbers: Mapping[str, float]  # every derived number by name: what the rules of advice look at
    advice: tuple[Advice, ...] = ()
    shape: NodeTopology | None = None
    asked_mpi: str = ""  # label of the library that the user has put under the program, "" for its own
    notes: tuple[str, ...] = field(default=())  # what is missing or was lost
    order: "OrderProposal | None" = None  # of ranks, where the traffic was mapped
