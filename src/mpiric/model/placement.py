"""Placement plan: hardware threads for each thread of each rank, and the request that led to it."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from typing import NamedTuple

from mpiric.model.dataclass import dataclass
from mpiric.model.machine import Core, Topology

GPU_VARIABLES = {  # PCI vendor → variable that restricts a process to some GPUs
    "10de": "CUDA_VISIBLE_DEVICES",
    "1002": "ROCR_VISIBLE_DEVICES",
    "8086": "ZE_AFFINITY_MASK",
}


@dataclass(frozen=True)
class Gpu:
    """Accelerator or a tile of one, and the hardware threads close to it."""

    index: int
    name: str
    pus: tuple[int, ...]
    number: str = ""  # its number in `variable`: "3", or "1.0" for a tile
    variable: str = ""
    bridges: tuple[str, ...] = ()  # PCI bridges above it, from the root


@dataclass(frozen=True)
class Adapter:
    """Network adapter with a library of its own (RDMA, Slingshot), and the hardware threads close to it."""

    name: str  # name that its library uses: "mlx5_0:1" (with the port), "cxi0"
    pus: tuple[int, ...]
    bridges: tuple[str, ...] = ()
    on_ethernet: bool = False


class Devices(NamedTuple):
    """Devices of a node, in bus order."""

    gpus: tuple[Gpu, ...] = ()
    adapters: tuple[Adapter, ...] = ()


def devices_of(gpus: Iterable[tuple[Gpu, int]], adapters: Iterable[Adapter]) -> Devices:
    """Number the GPUs, and their tiles as GPUs; adapters on Ethernet count if all are."""
    tiled: list[Gpu] = []
    cards: dict[str, int] = {}
    for gpu, tiles in gpus:
        card = cards[gpu.variable] = cards.get(gpu.variable, -1) + 1
        for tile in range(max(1, tiles)):
            number, name = (
                (f"{card}.{tile}", f"{gpu.name}, tile {tile}") if tiles > 1 else (str(card), gpu.name)
            )
            tiled.append(replace(gpu, index=len(tiled), number=number, name=name))
    every = tuple(adapters)
    return Devices(tuple(tiled), tuple(a for a in every if not a.on_ethernet) or every)


class HardwareThreads(str, Enum):
    """Use of the hardware threads of a core."""

    CORE = "core"  # a thread of the program gets a whole core, with all its hardware threads
    ONE = "one"  # a thread of the program gets the first hardware thread of a core; the others stay idle
    ALL = "all"  # each hardware thread gets a thread of the program


class HugePages(str, Enum):
    """Use of huge pages, for launchers with an option for it (aprun)."""

    UNSAID = ""
    PREFERRED = "preferred"
    REQUIRED = "required"


@dataclass(frozen=True)
class Bandwidth:
    """Measured memory bandwidth of a set of cores of one memory domain; MB/s as defined by STREAM."""

    cores: int
    spacing: int  # 1: adjacent cores, 2: every second core
    mb_s: float
    domain: str = "numa"  # "numa": one NUMA node was loaded, "node": all of them


@dataclass(frozen=True)
class Saturation:
    """Minimum number of cores of a NUMA node that saturate its bandwidth, and the spacing between them."""

    cores: int
    spacing: int
    mb_s: float
    all_cores_mb_s: float  # bandwidth with all cores of the NUMA node, 0 if it was not measured


@dataclass(frozen=True)
class PlacementRequest:
    """Request for a placement; 0 and "" mean that the policy chooses."""

    ranks: int
    threads: int = 0  # per rank; 0: one, or all that a policy has to distribute
    policy: str = ""
    nodes: int = 0
    hosts: tuple[str, ...] = ()
    hardware_threads: HardwareThreads = HardwareThreads.CORE
    bandwidth_bound: bool = False
    measured: tuple[Bandwidth, ...] = ()
    leave_cores: int = 0  # cores of each node that stay free for the operating system
    # "performance", "efficiency", "any"; "": performance cores as long as there are enough.
    core_kind: str = ""
    memory_mib: int = 0  # per rank
    huge_pages: HugePages = HugePages.UNSAID


@dataclass(frozen=True)
class Seat:
    """Position of a rank on its node: a set of hardware threads (OS indices) for each of its threads."""

    threads: tuple[tuple[int, ...], ...]
    cores: tuple[Core, ...]
    numa: int  # NUMA node that contains most of its threads, and its memory
    gpu: int = -1
    adapters: tuple[str, ...] = ()  # nearest network adapters; empty if the node has one

    @property
    def pus(self) -> tuple[int, ...]:
        """Return all hardware threads of the rank, ascending."""
        return tuple(sorted({pu for thread in self.threads for pu in thread}))


@dataclass(frozen=True)
class RankPlace:
    """Rank: its number in MPI_COMM_WORLD, its node (from 0) and its seat there."""

    rank: int
    node: int
    seat: Seat


@dataclass(frozen=True)
class Plan:
    """Placement on equal nodes: local rank *i* gets ``seats[i]`` on each; the last node may be less full."""

    request: PlacementRequest
    topology: Topology
    policy: str
    nodes: int
    seats: tuple[Seat, ...]
    usable: tuple[int, ...]  # usable hardware threads of a node
    notes: tuple[str, ...] = ()
    saturation: Saturation | None = None
    gpus: tuple[Gpu, ...] = ()

    @property
    def ranks_per_node(self) -> int:
        """Return the number of ranks on each node except perhaps the last."""
        return len(self.seats)

    @property
    def threads(self) -> int:
        """Return the number of threads per rank."""
        return len(self.seats[0].threads)

    @property
    def has_tiles(self) -> bool:
        """Return whether ranks get tiles of GPUs, which launchers do not number."""
        return any("." in gpu.number for gpu in self.gpus)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return the names of the nodes, empty if none were specified."""
        return self.request.hosts[: self.nodes]

    @property
    def ranks(self) -> tuple[RankPlace, ...]:
        """Return all ranks in order; nodes are filled one after the other."""
        per_node = self.ranks_per_node
        return tuple(
            RankPlace(rank, rank // per_node, self.seats[rank % per_node])
            for rank in range(self.request.ranks)
        )

    @property
    def idle_cores(self) -> tuple[Core, ...]:
        """Return the usable cores of a full node that get no thread."""
        occupied = {pu for seat in self.seats for pu in seat.pus}
        usable = set(self.usable)
        return tuple(
            core
            for core in self.topology.cores
            if usable.intersection(core.pus) and not occupied.intersection(core.pus)
        )

    @property
    def core_hours_per_hour(self) -> int:
        """Return the core hours charged per hour if whole nodes are charged."""
        return self.nodes * len(self.topology.cores)


@dataclass(frozen=True)
class Emission:
    """Instructions for a launcher: options before the program, variables, and files.

    ``exact`` is false if the launcher cannot express the plan; ``note`` then describes the difference.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # file name in argv → contents
    exact: bool = True
    note: str = ""


@dataclass(frozen=True)
class ThreadSeen:
    """Thread of a running process, from /proc; CPU time in seconds."""

    thread: int
    name: str
    cpus_allowed: tuple[int, ...]
    cpu_now: int
    cpu_s: float
    minor_faults: int = 0  # mostly pages that it touched first


@dataclass(frozen=True)
class ThreadPool:
    """Library that starts a thread for each CPU unless a variable limits it."""

    library: str
    variable: str


@dataclass(frozen=True)
class ProcessSeen:
    """Rank of a running job, from /proc. ``memory_pages``: NUMA node → pages (units of 4 KiB)."""

    pid: int
    rank: int | None
    program: str
    threads: tuple[ThreadSeen, ...]
    cpus_allowed: tuple[int, ...]  # affinity of the main thread
    memory_pages: Mapping[int, int] = field(default_factory=dict)
    memory_nodes_allowed: tuple[int, ...] = ()
    cgroup_cpus: tuple[int, ...] = ()  # CPUs of its control group, empty if unknown
    job: str = ""  # id of the launch: the launcher's process or the scheduler's step
    places: str = ""  # OMP_PLACES and similar variables at the start of the process
    omp_threads: int = 0  # OMP_NUM_THREADS, 0 if it is not set
    bound_by: str = ""  # variables that make OpenMP bind the threads: "OMP_PROC_BIND=true", "" without
    unlimited_pool: ThreadPool | None = None  # library whose number of threads no variable sets
    launch: str = ""  # launch id of mpiric, if mpiric started it
    parent_cpus: tuple[int, ...] = ()  # CPUs of the parent process, empty if unknown
    cpu_list: str = ""  # list of CPUs or masks given to srun ("map_cpu:0,1"), "" without
    scheduled: str = ""  # job id of the scheduler, "" outside a job
    gpus: tuple[str, ...] = ()  # names of the GPUs that it computes on, empty if unknown
    gpus_allotted: int = 0  # number of GPUs of its job on this node, 0 if unknown


OPENMP_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
_NO_BINDING = frozenset({"false", "none", "disabled"})
_MODIFIERS = frozenset({"", "verbose", "noverbose", "warnings", "nowarnings", "respect", "norespect"})


def openmp_binding(environment: Mapping[str, str]) -> str:
    """Return the variables that make an OpenMP runtime bind its threads, ``OMP_PROC_BIND=true``; "" if none.

    ``OMP_PROC_BIND=false`` has precedence over lists of places.
    """
    if environment.get("OMP_PROC_BIND", "true").lower() == "false":
        return ""
    settings = []
    for name in OPENMP_BINDING:
        modes = {word.strip().lower() for word in environment.get(name, "").split(",")} - _MODIFIERS
        if modes and not modes & _NO_BINDING:
            settings.append(f"{name}={environment[name]}")
    return " ".join(settings)


# Beginnings of file names. OpenMP is last, since the others use it.
_POOLS = {
    "libopenblas": ThreadPool("OpenBLAS", "OPENBLAS_NUM_THREADS"),
    "libscipy_openblas": ThreadPool("OpenBLAS", "OPENBLAS_NUM_THREADS"),
    "libmkl_": ThreadPool("MKL", "MKL_NUM_THREADS"),
    "libblis": ThreadPool("BLIS", "BLIS_NUM_THREADS"),
    "libgomp": ThreadPool("OpenMP (libgomp)", "OMP_NUM_THREADS"),
    "libiomp5": ThreadPool("OpenMP (libiomp5)", "OMP_NUM_THREADS"),
    "libomp": ThreadPool("OpenMP (libomp)", "OMP_NUM_THREADS"),
}


def unlimited_pool(libraries: Iterable[str], environment: Mapping[str, str]) -> ThreadPool | None:
    """Return the library whose number of threads no variable sets; None if one does, or without a library."""
    if environment.get("OMP_NUM_THREADS"):
        return None
    names = {path.rsplit("/", 1)[-1] for path in libraries}
    for beginning, pool in _POOLS.items():
        if any(name.startswith(beginning) for name in names):
            return None if environment.get(pool.variable) else pool
    return None
