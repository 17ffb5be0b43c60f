"""Record: data that the runtime wrote about one run.

Times are in seconds, sizes in bytes; ranks are ranks of MPI_COMM_WORLD.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import Enum

from mpiric.model.dataclass import dataclass
from mpiric.model.pace import KeyPace


class RankState(str, Enum):
    """State of a rank's recording at its end."""

    RUNNING = "running"  # the rank died, or exited without MPI_Finalize
    FINALIZED = "finalized"
    STOPPED = "stopped"  # internal error of the runtime
    ABORTED = "aborted"


class TrafficKind(str, Enum):
    """Kind of traffic between two ranks."""

    MESSAGE = "message"
    PUT = "put"
    GET = "get"


@dataclass(frozen=True, slots=True)
class CallCell:
    """Calls of a function on one communicator with one class of message sizes, in one region."""

    function: str
    communicator: int | None  # position in RankRecord.communicators
    region: int  # position in RankRecord.regions
    size_bin: int  # 0: no bytes; k: 2**(k-1) up to 2**k - 1 bytes
    calls: int
    bytes: int
    timed_calls: int  # only a sample of the calls of cheap functions is timed
    timed_s: float  # time of the timed calls
    shortest_s: float
    longest_s: float
    waited_s: float  # time in the barrier before the call, if it was requested
    histogram: tuple[int, ...]  # timed calls by the number of bits in their clock ticks

    @property
    def time_s(self) -> float:
        """Return the estimated time of all calls, extrapolated from the timed calls.

        The longest call counts once, because it may be the first one, which is cold, or the rank may
        have lost the CPU in it.
        """
        if self.timed_calls < 2:
            return self.timed_s * self.calls
        others_s = (self.timed_s - self.longest_s) / (self.timed_calls - 1)
        return self.longest_s + others_s * (self.calls - 1)


@dataclass(frozen=True, slots=True)
class CommunicatorRow:
    """Communicator or window in one rank's record; (members, ordinal) is equal on all its ranks."""

    members: int
    ordinal: int
    size: int
    rank: int
    remote_size: int
    is_window: bool
    is_between: bool  # intercommunicator
    is_world: bool  # all ranks of MPI_COMM_WORLD in the same order
    name: str


@dataclass(frozen=True, slots=True)
class Peer:
    """Exact traffic of a rank to or from another rank."""

    world_rank: int | None  # None: outside MPI_COMM_WORLD
    kind: TrafficKind
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Region:
    """Section of the program named through MPI_Pcontrol; the first region is the whole program."""

    name: str
    entries: int
    time_s: float


@dataclass(frozen=True, slots=True)
class FileUse:
    """Use of a file by a rank through one interface."""

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
    small: int  # number of accesses below 4 KiB
    unaligned: int  # number of accesses that do not start at a multiple of 4 KiB
    sequential: int  # number of accesses that start at the end of the previous one
    detail: "FileDetail | None" = None  # None before version 4 of records


@dataclass(frozen=True, slots=True)
class FileDetail:
    """Creation, open modes and access pattern of a file on one rank, without stdio accesses."""

    opened: frozenset[str]  # "read", "write", "create", "truncate", "append", "exclusive", "direct", ...
    creating: int  # number of opens that create the file if it does not exist
    created_unix_s: float  # end of the first of these opens, 0: none
    close_s: float
    strided: int  # number of accesses with the same distance (and a gap) as between the two accesses before
    first_byte: int
    end_byte: int  # 0: no access
    largest: int  # largest access in bytes
    locks: int
    lock_s: float
    lines: int  # number of writes that end with a line break
    flushes: int


@dataclass(frozen=True, slots=True)
class CallSite:
    """Calls of a function at one call site."""

    address: int
    function: str
    calls: int
    bytes: int
    time_s: float


@dataclass(frozen=True, slots=True)
class ReceiveTiming:
    """Receives that were probed before they were posted; `late`: the message had already arrived."""

    looked_at: int
    late: int
    late_bytes: int
    largest_bytes: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Time spans of equal length since the start of the recording; each column has one entry per span.

    The time of a span that is in no column is computation.
    """

    span_s: float  # length of a span; the last one may be shorter
    point_to_point_s: Sequence[float] = ()
    collective_s: Sequence[float] = ()
    other_mpi_s: Sequence[float] = ()
    files_s: Sequence[float] = ()
    region: Sequence[int] = ()  # region with the largest share: position in RankRecord.regions


@dataclass(frozen=True, slots=True)
class OpenCall:
    """MPI call that has not returned, or that has started a request; ranks are ranks in its communicator."""

    function: str
    entered_unix_s: float
    address: int  # return address, as mapped
    communicator: int | None = None  # position in RankRecord.communicators
    peer: int | None = None  # destination, source, target or root
    source: int | None = None  # rank that a send-receive receives from
    tag: int | None = None
    count: int | None = None
    bytes: int | None = None  # None if the size of the datatype is unknown
    requests: int = 0  # number of requests that it waits for
    started: "tuple[OpenCall, ...]" = ()  # calls that have started these requests, as far as they are known


@dataclass(frozen=True, slots=True)
class ProcessState:
    """State of a rank's process when its run was ended, observed from outside."""

    state: str  # state of its first thread, as in /proc/PID/stat: R, S, D, T, …
    system_call: str = ""  # system call that it is in
    file: str = ""  # file that this call reads or writes
    place: str = ""  # position in the program, or return address of its MPI call: module+0xoffset
    calls: tuple[str, ...] = ()  # places in MPI and C library on its stack, innermost first
    connects_to: str = ""  # address of a connection that is not answered
    user_s: float = 0.0  # CPU time of the process
    system_s: float = 0.0
    involuntary_switches: int = 0  # context switches of the first thread

    def moved(self, old: str, new: str) -> "ProcessState":
        """Return the state with a place in another directory: a run's copy of the user's may be removed."""
        return replace(self, place=self.place.replace(f"{old}/", f"{new}/", 1))

    @property
    def reads_standard_input(self) -> bool:
        """Return whether it waits for standard input."""
        return self.system_call in ("read", "readv") and self.file.startswith("standard input")


@dataclass(frozen=True, slots=True)
class RankRecord:
    """Record of one rank."""

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
    lost: Mapping[str, int]  # number of events that did not fit, per table
    pace: tuple[KeyPace, ...] = ()  # merged records contain times of rank 0 only; empty before version 3
    call: OpenCall | None = None  # MPI call that the rank is in; None before version 6
    left_unix_s: float = 0.0  # end of its latest MPI call, without polling calls; 0: unknown
    polls: str = ""  # polling function that it has called since
    process: ProcessState | None = None  # None if it was not observed


@dataclass(frozen=True, slots=True)
class Record:
    """Record of one run."""

    world_size: int
    function_classes: Mapping[str, str]  # {"MPI_Send": "send", …}
    ranks: tuple[RankRecord, ...]  # ranks that left data, in ascending order
    ended_unix_s: float = 0.0  # time when the run was ended from outside; 0 if it was not
    # Ranks without a record whose processes were observed when the run was ended.
    unrecorded: Mapping[int, ProcessState] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[int, ...]:
        """Return the ranks of MPI_COMM_WORLD without data."""
        present = {rank.rank for rank in self.ranks}
        return tuple(rank for rank in range(self.world_size) if rank not in present)
