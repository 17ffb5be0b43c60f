"""Situation: all that a knob may look at; and Observation, what running the original showed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, inf

from mpiric.model.behaviour import Behaviour
from mpiric.model.count import number_of
from mpiric.model.job import Job, Meaning
from mpiric.model.machine import Machine
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.rank_order import RankOrders

NO_C_LIBRARY = "the program shows no C library: statically linked or setuid"
_OFF = ("0", "no", "off", "false", "disable", "n")
_OPENMP_RUNTIMES = tuple(
    f"lib{name}{end}"  # of Python wheels the name goes on with a digest
    for name in ("gomp", "omp", "iomp5", "omp5", "nvomp")
    for end in ".-"
)
_THREADED_LIBRARIES = ("libopenblas", "libmkl_", "libblis", "libflexiblas")


@dataclass(frozen=True)
class RankSeen:
    """One process of the running job, seen from outside (from /proc); times in seconds.

    The defaults are those of a process that has not run.
    """

    rank: int | None  # the program's world rank where its environment tells
    program: str  # the executable really running
    cpus_allowed: tuple[int, ...]
    threads: int = 1
    user_s: float = 0.0
    system_s: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    rss_peak_bytes: int = 0
    huge_bytes: int = 0  # of its memory, on transparent huge pages
    libraries: tuple[str, ...] = ()  # shared objects mapped, absolute paths


@dataclass(frozen=True)
class Observation:
    """What the unchanged command showed: medians over its runs, one RankSeen a rank of the last run."""

    wall_s: float
    ranks: tuple[RankSeen, ...] = ()
    cpus: int = 1  # CPUs the job could use
    uses_mpi: bool = True  # whether a rank may call MPI at all: not where a recorded run has shown none
    mpi_calls: frozenset[str] = frozenset()  # MPI functions it can call ("mpi_allreduce"); empty: unknown
    mpi_names: frozenset[str] = frozenset()  # MPI libraries it asks for ("libmpi.so.12"); empty: unknown
    mpi_fixed: str = ""  # why no other MPI library can be put under the program, "" when one can
    mpi_nailed: str = ""  # the MPI library that an RPATH binds it to, "" when the library path decides
    networks: tuple[
        str, ...
    ] = ()  # by plain TCP between two of the nodes, the best first; empty: not measured
    networks_used: tuple[str, ...] = ()  # networks that the library chose by itself; empty: not seen
    provider_used: str = ""  # libfabric provider that the library chose by itself; "": not seen
    behaviour: Behaviour | None = None  # what recorded runs have shown; None where nothing was recorded
    ranks_s: float = 0.0  # wall time of the run that ``ranks`` are of; 0: `wall_s`

    @property
    def oversubscribed(self) -> bool:
        """Whether there are more ranks than CPUs."""
        return len(self.ranks) > self.cpus

    @property
    def unbound(self) -> bool:
        """Whether every rank may run on every CPU the job has, and there is more than one."""
        return (
            self.cpus > 1 and bool(self.ranks) and all(len(r.cpus_allowed) >= self.cpus for r in self.ranks)
        )

    @property
    def kernel_share(self) -> float:
        """Share of a rank's time spent in the kernel, all threads together: little where it sleeps."""
        return self._per_second(sum(rank.system_s for rank in self.ranks))

    @property
    def minor_faults_per_s(self) -> float:
        """Page faults without I/O, per second and rank."""
        return self._per_second(sum(rank.minor_faults for rank in self.ranks))

    def _per_second(self, total: float) -> float:
        """A sum over the ranks per second and rank of the run that they were seen in."""
        seconds = len(self.ranks) * (self.ranks_s or self.wall_s)
        return total / seconds if seconds > 0 else 0.0

    @property
    def rss_peak_bytes(self) -> int:
        """Largest resident size of one rank."""
        return max((rank.rss_peak_bytes for rank in self.ranks), default=0)

    def can_call(self, *functions: str) -> bool:
        """Whether the program may call one of these (``allreduce``), in any form; yes when unknown."""
        forms = (
            f"mpi_{kind}{name}{end}" for name in functions for kind in ("", "i") for end in ("", "_init")
        )
        return not self.mpi_calls or any(form in self.mpi_calls for form in forms)

    @property
    def is_dynamic(self) -> bool:
        """Whether preloads and the C library's variables reach the program.

        Of a statically linked program no library is seen, of a setuid one nothing at all: both count as no.
        """
        return self.loads("libc.so") or self.loads("libc-")

    def loads(self, stem: str) -> bool:
        """Whether a rank maps a shared object whose file name starts with ``stem``."""
        return any(path.rsplit("/", 1)[-1].startswith(stem) for rank in self.ranks for path in rank.libraries)


@dataclass(frozen=True)
class Allowed:
    """What the user allows the search to touch beyond the ordinary."""

    vary_ranks: bool = False
    vary_nodes: bool = False
    rounding: bool = False
    late: bool = False  # bytes of files may be there later
    relayout: bool = False  # bytes of files may be otherwise arranged


EVERYTHING = Allowed(vary_ranks=True, vary_nodes=True, rounding=True, late=True, relayout=True)


@dataclass(frozen=True)
class Tuner:
    """The part of the runtime that chooses collective algorithms, as it can be given to the ranks."""

    library: str = ""  # absolute path of the runtime for this MPI, "" when there is none that tunes
    policy: str = ""  # absolute path of the flat policy to obey
    exported: tuple[tuple[str, str], ...] = ()  # variables under which the library by itself obeys the next
    exported_policy: str = ""  # absolute path of the flat policy that they stand for
    settings: tuple[tuple[str, str], ...] = ()  # its other options
    covered: frozenset[str] = frozenset()  # collectives on which these policies have a word
    why_not: str = ""  # why the ranks cannot load it, where ``library`` is empty for that reason


@dataclass(frozen=True)
class HostNames:
    """What the hosts of a launch line are called: names choose the network that the launcher uses."""

    network: str = ""  # interface on the network of the names as written, "" when unknown
    others: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # interface → name → name there


@dataclass(frozen=True)
class Situation:
    """Machine, job, library and observation together: the argument of every knob's functions."""

    machine: Machine
    job: Job
    mpi: MpiLibrary
    observation: Observation
    others: tuple[MpiLibrary, ...] = ()  # every other MPI found, of whatever family
    allowed: Allowed = field(default_factory=Allowed)
    nodes: int = 1
    inherited: Mapping[str, str] = field(default_factory=dict)  # tuning variables the user has set already
    tuner: Tuner = field(default_factory=Tuner)
    hint_directory: str = ""  # where files of hints may be put for ranks to read, "" for nowhere
    rank_orders: RankOrders = field(default_factory=RankOrders)
    least_share: float | None = None  # of the time, that a knob must be able to touch; None: a record rules
    # nothing out

    # Facts that take long to find: read when somebody asks. A reader keeps what it has found.
    read_host_names: Callable[[], HostNames] = field(default=HostNames, compare=False, repr=False)
    read_host_mpi: Callable[[], MpiLibrary | None] = field(default=lambda: None, compare=False, repr=False)
    read_library_defaults: Callable[[], Mapping[str, str]] = field(default=dict, compare=False, repr=False)
    try_layout: Callable[[], str] = field(default=str, compare=False, repr=False)

    @cached_property
    def host_names(self) -> HostNames:
        """Names of the hosts of the launch line."""
        return self.read_host_names()

    @cached_property
    def host_mpi(self) -> MpiLibrary | None:
        """The launcher's library as it serves the program of the job's image; None without an image."""
        return self.read_host_mpi()

    @cached_property
    def library_defaults(self) -> Mapping[str, str]:
        """Variables of the MPI library → the values that it gives them by itself."""
        return self.read_library_defaults()

    @cached_property
    def layout_refused(self) -> str:
        """Why no layout can be set where the job writes, as was tried; "" where one can."""
        return self.try_layout()

    @property
    def mpi_in_force(self) -> str:
        """Label of the MPI library, "" where the environment leads the program to it past its launcher."""
        own = next((each for each in self.others if each.library == self.mpi.library), None)
        return self.mpi.label if own is None or own.launcher == self.mpi.launcher else ""

    @cached_property
    def rank_count(self) -> int:
        """Ranks of the job: as requested, or as many as were seen on this node; at least 1."""
        return max(1, len(self.observation.ranks), self.job.ranks or 0)

    @cached_property
    def ranks_per_node(self) -> int:
        """Ranks on the fullest node."""
        return ceil(self.rank_count / max(1, self.nodes))

    @cached_property
    def cpus_per_node(self) -> int:
        """CPUs one node gives to the job."""
        return self.machine.usable_cpu_count

    @cached_property
    def is_oversubscribed(self) -> bool:
        """Whether a node has more ranks than CPUs."""
        return self.observation.oversubscribed or self.ranks_per_node > self.cpus_per_node

    @cached_property
    def is_hybrid(self) -> bool:
        """Whether the ranks load an OpenMP runtime."""
        return any(map(self.observation.loads, _OPENMP_RUNTIMES))

    @cached_property
    def is_threaded(self) -> bool:
        """Whether the ranks load something that can start threads: OpenMP or a math library."""
        return self.is_hybrid or any(map(self.observation.loads, _THREADED_LIBRARIES))

    @cached_property
    def threads_per_rank(self) -> int:
        """Computing threads of a rank: as requested, else as seen running without the library's helpers."""
        requested = number_of((self.in_force("OMP_NUM_THREADS") or "").split(",")[0])
        seen = max((rank.threads for rank in self.observation.ranks), default=1)
        return requested or max(1, seen - self.mpi.capabilities.helper_threads)

    @cached_property
    def cpus_per_rank(self) -> int:
        """CPUs of a node for each of its ranks; at least 1."""
        return max(1, self.cpus_per_node // self.ranks_per_node)

    @cached_property
    def uses_ucx(self) -> bool:
        """Whether the ranks load UCX, wherever it came from."""
        return self.observation.loads("libucp.") or self.observation.loads("libucp-")

    @cached_property
    def has_adapter(self) -> bool:
        """Whether there is a network that needs no IP: InfiniBand, Omni-Path, Slingshot, RoCE."""
        return any(not nic.is_ip for nic in self.machine.networks)

    @cached_property
    def glibc_version(self) -> tuple[int, ...]:
        """(2, 36); empty when the C library is another one or unknown."""
        name, _, version = self.machine.libc.partition(" ")
        if name != "glibc":
            return ()
        return tuple(int(part) for part in version.split(".") if number_of(part, -1) >= 0)

    @cached_property
    def no_preload(self) -> str:
        """Why a library of this machine cannot be put into the ranks, "" when it can."""
        if self.job.container is not None:
            return "the library of this machine need not fit inside a container"
        return "" if self.observation.is_dynamic else f"{NO_C_LIBRARY}, a preload cannot reach it"

    def in_force(self, variable: str) -> str | None:
        """Value of a variable as the ranks see it: command line before environment; None when not set.

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
        """Value of the first of these variables that is set to something, "" when none is."""
        return next((value for name in variables if (value := self.in_force(name))), "")

    def is_on(self, variable: str) -> bool:
        """Whether a switch is set, and not to a word for off."""
        value = self.in_force(variable)
        return bool(value) and str(value).lower() not in _OFF

    def number(self, name: str, unrecorded: float = 0.0) -> float:
        """Number of the recorded run (see `model.behaviour`); ``unrecorded`` without it."""
        behaviour = self.observation.behaviour
        return behaviour.numbers.get(name, unrecorded) if behaviour else unrecorded

    def shown(self, name: str, otherwise: float = inf) -> float:
        """Number of the recorded run, 0 where it has none; ``otherwise`` where a record rules nothing out."""
        behaviour = self.observation.behaviour
        if behaviour is None or self.least_share is None:
            return otherwise
        return behaviour.numbers.get(name, 0.0)
