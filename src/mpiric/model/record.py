"""Record: what the runtime wrote about one run.

Times in seconds, sizes in bytes, ranks those of the program's world.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from mpiric.model.pace import KeyPace


class RankState(str, Enum):
    """How a rank's recording ended."""

    RUNNING = "running"  # the rank died, or left without MPI_Finalize
    FINALIZED = "finalized"
    STOPPED = "stopped"  # a fault of the runtime itself
    ABORTED = "aborted"


class TrafficKind(str, Enum):
    """What moved between two ranks."""

    MESSAGE = "message"
    PUT = "put"
    GET = "get"


@dataclass(frozen=True, slots=True)
class CallCell:
    """Calls of one function on one communicator with one size of message, in one region."""

    function: str
    communicator: int | None  # position in RankRecord.communicators
    region: int  # position in RankRecord.regions
    size_bin: int  # 0: no bytes; k: 2**(k-1) up to 2**k - 1 bytes
    calls: int
    bytes: int
    timed_calls: int  # cheap functions are timed now and then only
    timed_s: float  # time of the timed calls
    shortest_s: float
    longest_s: float
    waited_s: float  # in the barrier before the call, when that was asked for
    histogram: tuple[int, ...]  # timed calls by the number of bits in their clock ticks

    @property
    def time_s(self) -> float:
        """Time of all calls: that of the timed ones, scaled. The longest of them stands for itself alone.

        It may be the first one, which is cold, or one that lost the CPU.
        """
        if self.timed_calls < 2:
            return self.timed_s * self.calls
        others_s = (self.timed_s - self.longest_s) / (self.timed_calls - 1)
        return self.longest_s + others_s * (self.calls - 1)


@dataclass(frozen=True, slots=True)
class CommunicatorRow:
    """A communicator or window as one rank saw it; (members, ordinal) is the same on all its ranks."""

    members: int
    ordinal: int
    size: int
    rank: int
    remote_size: int
    is_window: bool
    is_between: bool  # joins two groups
    is_world: bool  # every rank of the world, in its order
    name: str


@dataclass(frozen=True, slots=True)
class Peer:
    """What a rank sent to, put to or got from another one; exact."""

    world_rank: int | None  # None: outside this world
    kind: TrafficKind
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of the program named through MPI_Pcontrol; the first is the whole program."""

    name: str
    entries: int
    time_s: float


@dataclass(frozen=True, slots=True)
class FileUse:
    """How one file was used by one rank through one interface."""

    path: str
    interface: str  # "posix", "mpi-io", "stream"
    processes: int
    opens: int
    reads: int
    writes: int
    bytes_read: int
    bytes_written: int
    read_s: float
    write_s: float
    metadata_s: float
    metadata: int
    seeks: int
    syncs: int
    small: int  # accesses under 4 KiB
    unaligned: int  # accesses that begin off a 4 KiB boundary
    sequential: int  # accesses that begin where the last one ended
    detail: "FileDetail | None" = None  # from version 4 of records on


@dataclass(frozen=True, slots=True)
class FileDetail:
    """Who made a file, how it was opened and where in it one rank's accesses lie, stdio aside."""

    opened: frozenset[str]  # "read", "write", "create", "truncate", "append", "exclusive", "direct", ...
    creating: int  # opens that make the file where it is not there
    created_unix_s: float  # when the first of those was over, 0: none
    close_s: float
    strided: int  # accesses as far from the one before as that from its own, with a gap
    first_byte: int
    end_byte: int  # 0: nothing accessed
    largest: int  # bytes of an access
    locks: int
    lock_s: float
    lines: int  # writes that end a line
    flushes: int


@dataclass(frozen=True, slots=True)
class CallSite:
    """Calls of one function from one place in the program."""

    address: int
    function: str
    calls: int
    bytes: int
    time_s: float


@dataclass(frozen=True, slots=True)
class ReceiveTiming:
    """Receives that were looked at before they were posted; `late`: the message was there already."""

    looked_at: int
    late: int
    late_bytes: int
    largest_bytes: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run cut into equal spans from the beginning of the rank's recording; a column has one entry a span.

    What the columns leave of a span is the program's own work.
    """

    span_s: float  # length of each; the last one may be cut short
    point_to_point_s: Sequence[float] = ()
    collective_s: Sequence[float] = ()
    other_mpi_s: Sequence[float] = ()
    files_s: Sequence[float] = ()
    region: Sequence[int] = ()  # that had most of it: position in RankRecord.regions


@dataclass(frozen=True, slots=True)
class RankRecord:
    """One rank."""

    rank: int
    state: RankState
    job: int
    begin_unix_s: float
    wall_s: float
    thread_level: int
    cells: tuple[CallCell, ...]
    communicators: tuple[CommunicatorRow, ...]
    peers: tuple[Peer, ...]
    regions: tuple[Region, ...]
    files: tuple[FileUse, ...]
    sites: tuple[CallSite, ...]
    receives: ReceiveTiming
    timeline: Timeline  # empty in records of version 1
    facts: Mapping[str, str]
    lost: Mapping[str, int]  # events that found no room, per table
    pace: tuple[KeyPace, ...] = ()  # in merged records times of rank 0 only; empty before version 3


@dataclass(frozen=True, slots=True)
class Record:
    """One run."""

    world_size: int
    function_classes: Mapping[str, str]  # {"MPI_Send": "send", …}
    ranks: tuple[RankRecord, ...]  # those that left data, by rank

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the world that left no data."""
        present = {rank.rank for rank in self.ranks}
        return tuple(rank for rank in range(self.world_size) if rank not in present)
