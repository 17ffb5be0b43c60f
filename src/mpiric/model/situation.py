"""Situation: all that a knob may look at; and Observation, what running the original showed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mpiric.model.behaviour import Behaviour
from mpiric.model.job import Job
from mpiric.model.machine import Machine
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.rank_order import RankOrders


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
    relayout: bool = False  # bytes of files may lie elsewhere, or otherwise arranged


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
    library_defaults: Mapping[str, str] = field(default_factory=dict)  # variables of the library → its values
    tuner: Tuner = field(default_factory=Tuner)
    host_mpi: MpiLibrary | None = None  # the launcher's library as it serves the program of the job's image
    host_names: HostNames = field(default_factory=HostNames)
    hint_directory: str = ""  # where files of hints may be put for ranks to read, "" for nowhere
    withheld: Mapping[str, str] = field(default_factory=dict)  # knob → why it cannot be set, as was tried
    rank_orders: RankOrders = field(default_factory=RankOrders)

    @property
    def mpi_in_force(self) -> str:
        """Label of the MPI library, "" where the environment leads the program to it past its launcher."""
        own = next((each for each in self.others if each.library == self.mpi.library), None)
        return self.mpi.label if own is None or own.launcher == self.mpi.launcher else ""
