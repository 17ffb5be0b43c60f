"""Situation: the facts that knobs decide on; Observation: results of running the original command."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import ceil, inf

from mpiric.model.amount import number_of
from mpiric.model.dataclass import dataclass
from mpiric.model.job import Job, Meaning
from mpiric.model.machine import Machine
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.placement import ProcessSeen
from mpiric.model.profile import Behaviour
from mpiric.model.rank_order import RankOrders

NO_C_LIBRARY = "the program shows no C library: statically linked or setuid"
_OFF = ("0", "no", "off", "false", "disable", "n")
_OPENMP_RUNTIMES = tuple(
    f"lib{name}{end}"  # Python wheels append a digest to the name
    for name in ("gomp", "omp", "iomp5", "omp5", "nvomp")
    for end in ".-"
)
_THREADED_LIBRARIES = ("libopenblas", "libmkl_", "libblis", "libflexiblas")


@dataclass(frozen=True)
class RankSeen:
    """Process of the running job, observed through /proc; times in seconds.

    The defaults are valid for a process that has not run.
    """

    rank: int | None  # world rank from its environment
    program: str  # executable that is running
    cpus_allowed: tuple[int, ...]
    threads: int = 1
    user_s: float = 0.0
    system_s: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    rss_peak_bytes: int = 0
    huge_bytes: int = 0  # memory in transparent huge pages
    libraries: tuple[str, ...] = ()  # shared objects mapped, absolute paths


@dataclass(frozen=True)
class Observation:
    """Observations of the unchanged command: medians over its runs, and the ranks of the last run."""

    wall_s: float
    ranks: tuple[RankSeen, ...] = ()
    cpus: int = 1  # CPUs the job could use
    uses_mpi: bool = True  # false if a recorded run has shown no MPI calls
    mpi_calls: frozenset[str] = frozenset()  # MPI functions it can call ("mpi_allreduce"); empty: unknown
    mpi_names: frozenset[str] = frozenset()  # MPI libraries it needs ("libmpi.so.12"); empty: unknown
    mpi_fixed: str = ""  # reason why the MPI library cannot be replaced, "" if it can
    mpi_nailed: str = ""  # MPI library that an RPATH selects, "" if the library path decides
    # Networks by the speed of plain TCP between two of the nodes, the best first; empty: not measured.
    networks: tuple[str, ...] = ()
    networks_used: tuple[str, ...] = ()  # networks that the library chose by default; empty: unknown
    provider_used: str = ""  # libfabric provider that the library chose by default; "": unknown
    behaviour: Behaviour | None = None  # behaviour in recorded runs; None without a record
    ranks_s: float = 0.0  # wall time of the run that ``ranks`` belong to; 0: `wall_s`

    @property
    def oversubscribed(self) -> bool:
        """Return whether there are more ranks than CPUs."""
        return len(self.ranks) > self.cpus

    @property
    def unbound(self) -> bool:
        """Return whether there are several CPUs and each rank may run on all of them."""
        return (
            self.cpus > 1 and bool(self.ranks) and all(len(r.cpus_allowed) >= self.cpus for r in self.ranks)
        )

    @property
    def kernel_share(self) -> float:
        """Return the share of a rank's time that all its threads spent in the kernel; small if it sleeps."""
        return self._per_second(sum(rank.system_s for rank in self.ranks))

    @property
    def minor_faults_per_s(self) -> float:
        """Return the page faults without I/O per second and rank."""
        return self._per_second(sum(rank.minor_faults for rank in self.ranks))

    def _per_second(self, total: float) -> float:
        """Return a sum over the ranks, divided by the number of ranks and the time of their run."""
        seconds = len(self.ranks) * (self.ranks_s or self.wall_s)
        return total / seconds if seconds > 0 else 0.0

    @property
    def rss_peak_bytes(self) -> int:
        """Return the largest resident size of a rank."""
        return max((rank.rss_peak_bytes for rank in self.ranks), default=0)

    def can_call(self, *functions: str) -> bool:
        """Return whether the program may call one of these (``allreduce``), in any form; true if unknown."""
        forms = (
            f"mpi_{kind}{name}{end}" for name in functions for kind in ("", "i") for end in ("", "_init")
        )
        return not self.mpi_calls or any(form in self.mpi_calls for form in forms)

    @property
    def is_dynamic(self) -> bool:
        """Return whether preloads and the C library's variables affect the program.

        False for statically linked programs, whose libraries are not visible, and for setuid programs.
        """
        return self.loads("libc.so") or self.loads("libc-")

    def loads(self, stem: str) -> bool:
        """Return whether a rank maps a shared object whose file name starts with ``stem``."""
        return any(path.rsplit("/", 1)[-1].startswith(stem) for rank in self.ranks for path in rank.libraries)


@dataclass(frozen=True)
class Allowed:
    """Additional changes that the user permits."""

    vary_ranks: bool = False
    vary_nodes: bool = False
    rounding: bool = False
    late: bool = False  # file contents may become visible later
    relayout: bool = False  # file contents may be arranged differently or stored elsewhere


EVERYTHING = Allowed(vary_ranks=True, vary_nodes=True, rounding=True, late=True, relayout=True)


@dataclass(frozen=True)
class Tuner:
    """Files and variables for the part of the runtime that chooses collective algorithms."""

    library: str = ""  # absolute path of the runtime for this MPI library, "" if there is none
    policy: str = ""  # absolute path of the flat policy to apply
    exported: tuple[tuple[str, str], ...] = ()  # variables that make the library itself apply a policy
    exported_policy: str = ""  # absolute path of the flat policy that these variables express
    settings: tuple[tuple[str, str], ...] = ()  # further options
    covered: frozenset[str] = frozenset()  # collectives that these policies contain
    why_not: str = ""  # reason why the ranks cannot load it, if ``library`` is empty for that reason


@dataclass(frozen=True)
class HostNames:
    """Names of the hosts on the command line; the names determine the network that the launcher uses."""

    network: str = ""  # interface of the network that the written names belong to, "" if unknown
    # Interface → written name → name there.
    names_by_interface: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class FileSetting:
    """Setting in a file that a library reads: name and value as written, and ``path:line``."""

    name: str
    value: str
    place: str


@dataclass(frozen=True)
class Situation:
    """Machine, job, library and observation: the argument of every knob's functions."""

    machine: Machine
    job: Job
    mpi: MpiLibrary
    observation: Observation
    other_libraries: tuple[MpiLibrary, ...] = ()  # all other MPI libraries on the machine, of any family
    allowed: Allowed = field(default_factory=Allowed)
    nodes: int = 1
    inherited: Mapping[str, str] = field(default_factory=dict)  # tuning variables that the user has set
    in_files: Mapping[str, FileSetting] = field(default_factory=dict)  # settings by variable
    tuner: Tuner = field(default_factory=Tuner)
    hint_directory: str = ""  # directory for hint files that ranks read, "" without
    rank_orders: RankOrders = field(default_factory=RankOrders)
    # Share of the time that a knob must be able to affect; None: a record excludes no knob.
    least_share: float | None = None

    # Facts that are expensive to determine: computed on demand and cached.
    read_host_names: Callable[[], HostNames] = field(default=HostNames, compare=False, repr=False)
    read_host_mpi: Callable[[], MpiLibrary | None] = field(default=lambda: None, compare=False, repr=False)
    read_library_defaults: Callable[[], Mapping[str, str]] = field(default=dict, compare=False, repr=False)
    try_layout: Callable[[], str] = field(default=str, compare=False, repr=False)
    read_neighbours: Callable[[], Sequence[ProcessSeen]] = field(default=tuple, compare=False, repr=False)
    time_topology: Callable[[], float] = field(default=float, compare=False, repr=False)

    @cached_property
    def host_names(self) -> HostNames:
        """Return the names of the hosts of the command line."""
        return self.read_host_names()

    @cached_property
    def host_mpi(self) -> MpiLibrary | None:
        """Return the launcher's library as used for the program in the job's image; None without an image."""
        return self.read_host_mpi()

    @cached_property
    def library_defaults(self) -> Mapping[str, str]:
        """Return the default values of the MPI library's variables."""
        return self.read_library_defaults()

    @cached_property
    def layout_refused(self) -> str:
        """Return the reason why no layout can be set in the job's output directory; "" if it can."""
        return self.try_layout()

    @cached_property
    def topology_s(self) -> float:
        """Return the time in which hwloc reads the topology of this machine."""
        return self.time_topology()

    @cached_property
    def neighbours(self) -> tuple[ProcessSeen, ...]:
        """Return the ranks of other jobs on this node that are bound to some of its CPUs."""
        usable = set(self.machine.usable_pus)
        shared = ((process, usable.intersection(process.cpus_allowed)) for process in self.read_neighbours())
        return tuple(process for process, cpus in shared if 0 < len(cpus) < len(usable))

    @cached_property
    def free_cpus(self) -> tuple[int, ...]:
        """Return the CPUs of this node that the job may use and no other job is bound to."""
        occupied = {pu for process in self.neighbours for pu in process.cpus_allowed}
        return tuple(pu for pu in self.machine.usable_pus if pu not in occupied)

    @property
    def mpi_in_force(self) -> str:
        """Return the label of the MPI library, "" if the environment makes the program use another one."""
        installed = next((other for other in self.other_libraries if other.library == self.mpi.library), None)
        return self.mpi.label if installed is None or installed.launcher == self.mpi.launcher else ""

    @cached_property
    def rank_count(self) -> int:
        """Return the number of ranks: requested, or observed on this node; at least 1."""
        return max(1, len(self.observation.ranks), self.job.ranks or 0)

    @cached_property
    def ranks_per_node(self) -> int:
        """Return the number of ranks on the fullest node."""
        return ceil(self.rank_count / max(1, self.nodes))

    @cached_property
    def cpus_per_node(self) -> int:
        """Return the number of CPUs per node of the job."""
        return self.machine.usable_cpu_count

    @cached_property
    def is_oversubscribed(self) -> bool:
        """Return whether a node has more ranks than CPUs."""
        return self.observation.oversubscribed or self.ranks_per_node > self.cpus_per_node

    @cached_property
    def is_hybrid(self) -> bool:
        """Return whether the ranks load an OpenMP runtime."""
        return any(map(self.observation.loads, _OPENMP_RUNTIMES))

    @cached_property
    def is_threaded(self) -> bool:
        """Return whether the ranks load a library that can start threads: OpenMP or a math library."""
        return self.is_hybrid or any(map(self.observation.loads, _THREADED_LIBRARIES))

    @cached_property
    def threads_per_rank(self) -> int:
        """Return the computing threads per rank: requested, else observed without the library's helpers."""
        requested = number_of((self.in_force("OMP_NUM_THREADS") or "").split(",")[0])
        observed = max((rank.threads for rank in self.observation.ranks), default=1)
        return requested or max(1, observed - self.mpi.capabilities.helper_threads)

    @cached_property
    def cpus_per_rank(self) -> int:
        """Return the CPUs of a node per rank; at least 1."""
        return max(1, self.cpus_per_node // self.ranks_per_node)

    @cached_property
    def uses_ucx(self) -> bool:
        """Return whether the ranks load UCX, from any source."""
        return self.observation.loads("libucp.") or self.observation.loads("libucp-")

    @cached_property
    def has_adapter(self) -> bool:
        """Return whether there is a network that does not need IP: InfiniBand, Omni-Path, Slingshot, RoCE."""
        return any(not nic.is_ip for nic in self.machine.networks)

    @cached_property
    def glibc_version(self) -> tuple[int, ...]:
        """Return the version of glibc, (2, 36); empty if the C library is unknown or not glibc."""
        name, _, version = self.machine.libc.partition(" ")
        if name != "glibc":
            return ()
        return tuple(int(part) for part in version.split(".") if number_of(part, -1) >= 0)

    @cached_property
    def no_preload(self) -> str:
        """Return the reason why a library of this machine cannot be preloaded in the ranks, "" if it can."""
        if self.job.container is not None:
            return "the library of this machine need not fit inside a container"
        return "" if self.observation.is_dynamic else f"{NO_C_LIBRARY}, a preload cannot reach it"

    def in_force(self, variable: str) -> str | None:
        """Return a variable's value in the ranks (command line before environment), None if it is not set.

        ``--mca NAME VALUE`` on the command line counts as ``OMPI_MCA_NAME``.
        """
        parameter = variable.removeprefix("OMPI_MCA_")
        for segment in self.job.segments:
            for option in segment.options:
                if len(option.values) < 2:
                    continue
                name, value = option.values[:2]
                is_parameter = option.meaning is Meaning.MPI_PARAMETER and name == parameter
                if is_parameter or (option.meaning is Meaning.ENVIRONMENT and name == variable):
                    return value
        return self.inherited.get(variable, self.job.environment.get(variable))

    def first_in_force(self, variables: Iterable[str]) -> str:
        """Return the value of the first of these variables that is not empty, "" without one."""
        return next((value for name in variables if (value := self.in_force(name))), "")

    def is_on(self, variable: str) -> bool:
        """Return whether a switch is set to a value other than off."""
        value = self.in_force(variable)
        return bool(value) and str(value).lower() not in _OFF

    def number(self, name: str, unrecorded: float = 0.0) -> float:
        """Return a number of the recorded run (see `model.behaviour`); ``unrecorded`` without a record."""
        behaviour = self.observation.behaviour
        return behaviour.numbers.get(name, unrecorded) if behaviour else unrecorded

    def shown(self, name: str, otherwise: float = inf) -> float:
        """Return a number of the recorded run, 0 if missing; ``otherwise`` if records exclude no knob."""
        behaviour = self.observation.behaviour
        if behaviour is None or self.least_share is None:
            return otherwise
        return behaviour.numbers.get(name, 0.0)
