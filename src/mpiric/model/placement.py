"""Plan: which hardware threads each thread of each rank gets, and what was asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from mpiric.model.machine import Core, Topology


class HardwareThreads(str, Enum):
    """How the hardware threads of a core are used."""

    CORE = "core"  # a program's thread has a core to itself, both its hardware threads
    ONE = "one"  # the first hardware thread of a core, and nothing runs on the others
    ALL = "all"  # every hardware thread gets a thread of the program


class HugePages(str, Enum):
    """What a rank wants of huge pages where the launcher has a word for it (aprun)."""

    UNSAID = ""
    PREFERRED = "preferred"
    REQUIRED = "required"


@dataclass(frozen=True)
class Bandwidth:
    """Memory bandwidth measured over one set of cores of one memory domain; MB/s as STREAM counts."""

    cores: int
    spacing: int  # 1: adjacent cores, 2: every second one
    mb_s: float
    domain: str = "numa"  # "numa": one NUMA node was loaded, "node": all of them


@dataclass(frozen=True)
class Saturation:
    """The fewest cores of a NUMA node that draw its whole bandwidth, and how far apart they sit."""

    cores: int
    spacing: int
    mb_s: float
    all_cores_mb_s: float  # with every core of the NUMA node at work, 0 when it was not measured


@dataclass(frozen=True)
class PlacementRequest:
    """What is to be placed; zero and "" stand for "choose"."""

    ranks: int
    threads: int = 0  # per rank; 0: one, or all that a policy has to share out
    policy: str = ""
    nodes: int = 0
    hosts: tuple[str, ...] = ()
    hardware_threads: HardwareThreads = HardwareThreads.CORE
    bandwidth_bound: bool = False
    measured: tuple[Bandwidth, ...] = ()
    leave_cores: int = 0  # to the operating system, on each node
    core_kind: str = ""  # "performance", "efficiency", "any"; "": performance cores while they suffice
    memory_mib: int = 0  # per rank
    huge_pages: HugePages = HugePages.UNSAID


@dataclass(frozen=True)
class Gpu:
    """A device that computes, and the hardware threads near it."""

    index: int
    name: str
    pus: tuple[int, ...]


@dataclass(frozen=True)
class Seat:
    """Where one rank sits on its node: a set of hardware threads (OS indices) for each of its threads."""

    threads: tuple[tuple[int, ...], ...]
    cores: tuple[Core, ...]
    numa: int  # the NUMA node that holds most of it, and its memory
    gpu: int = -1

    @property
    def pus(self) -> tuple[int, ...]:
        """Everything the rank may run on, ascending."""
        return tuple(sorted({pu for thread in self.threads for pu in thread}))


@dataclass(frozen=True)
class RankPlace:
    """One rank: its number in MPI_COMM_WORLD, its node (from 0) and its seat there."""

    rank: int
    node: int
    seat: Seat


@dataclass(frozen=True)
class Plan:
    """A plan for equal nodes: local rank *i* sits in ``seats[i]`` on each; the last may be less full."""

    request: PlacementRequest
    topology: Topology
    policy: str
    nodes: int
    seats: tuple[Seat, ...]
    usable: tuple[int, ...]  # hardware threads of a node that may be used
    notes: tuple[str, ...] = ()
    saturation: Saturation | None = None
    gpus: tuple[Gpu, ...] = ()

    @property
    def ranks_per_node(self) -> int:
        """Ranks on every node but perhaps the last."""
        return len(self.seats)

    @property
    def threads(self) -> int:
        """Threads of a rank."""
        return len(self.seats[0].threads)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the nodes, empty when none were given."""
        return self.request.hosts[: self.nodes]

    @property
    def ranks(self) -> tuple[RankPlace, ...]:
        """Every rank in order; nodes are filled one after the other."""
        per_node = self.ranks_per_node
        return tuple(
            RankPlace(rank, rank // per_node, self.seats[rank % per_node])
            for rank in range(self.request.ranks)
        )

    @property
    def idle_cores(self) -> tuple[Core, ...]:
        """Usable cores of a full node that get no thread."""
        taken = {pu for seat in self.seats for pu in seat.pus}
        usable = set(self.usable)
        return tuple(
            core
            for core in self.topology.cores
            if usable.intersection(core.pus) and not taken.intersection(core.pus)
        )

    @property
    def core_hours_per_hour(self) -> int:
        """What the job is charged for each hour where whole nodes are charged."""
        return self.nodes * len(self.topology.cores)


@dataclass(frozen=True)
class Emission:
    """What one launcher has to be told: options in front of the program, variables, files beside it.

    ``exact`` is false where the launcher has no words for the plan; ``note`` then says what differs.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # name as argv says it → contents
    exact: bool = True
    note: str = ""


@dataclass(frozen=True)
class ThreadSeen:
    """One thread of a running process as /proc shows it; CPU time in seconds."""

    thread: int
    name: str
    cpus_allowed: tuple[int, ...]
    cpu_now: int
    cpu_s: float
    minor_faults: int = 0  # pages it was the first to touch, most of them


@dataclass(frozen=True)
class ProcessSeen:
    """One rank of a running job, seen from outside. ``memory_pages``: NUMA node → pages (4 KiB units)."""

    pid: int
    rank: int | None
    program: str
    threads: tuple[ThreadSeen, ...]
    cpus_allowed: tuple[int, ...]  # of the main thread
    memory_pages: Mapping[int, int] = field(default_factory=dict)
    memory_nodes_allowed: tuple[int, ...] = ()
    cgroup_cpus: tuple[int, ...] = ()  # what the control group leaves it, empty when unknown
    job: str = ""  # what holds a launch together: the launcher's process or the scheduler's step
    places: str = ""  # OMP_PLACES and its like, as the process was started with
    omp_threads: int = 0  # OMP_NUM_THREADS, 0 when it is not set
    launch: str = ""  # mpiric's own mark, when mpiric started it
    parent_cpus: tuple[int, ...] = ()  # CPUs of the parent process, empty when unknown
    cpu_list: str = ""  # the list of CPUs or masks that srun was given ("map_cpu:0,1"), "" without one
    scheduled: str = ""  # id of the scheduler's job it is part of, "" outside of one
