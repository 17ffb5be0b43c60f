"""Facts of a situation that several knobs read."""

from collections.abc import Iterable
from math import ceil

from mpiric.model.count import number_of
from mpiric.model.job import Meaning
from mpiric.model.machine import Nic
from mpiric.model.situation import Situation

NO_C_LIBRARY = "the program shows no C library: statically linked or setuid"
_OFF = ("0", "no", "off", "false", "disable", "n")
_OPENMP_RUNTIMES = tuple(
    f"lib{name}{end}"  # of Python wheels the name goes on with a digest
    for name in ("gomp", "omp", "iomp5", "omp5", "nvomp")
    for end in ".-"
)


def in_force(situation: Situation, variable: str) -> str | None:
    """Value of a variable as the ranks see it: command line before environment; None when not set.

    ``--mca NAME VALUE`` on the command line counts as ``OMPI_MCA_NAME``.
    """
    parameter = variable.removeprefix("OMPI_MCA_")
    for segment in situation.job.segments:
        for option in segment.options:
            if len(option.values) < 2:
                continue
            name, value = option.values[:2]
            is_parameter = option.meaning is Meaning.MPI_PARAMETER and name == parameter
            if is_parameter or (option.meaning is Meaning.ENVIRONMENT and name == variable):
                return value
    return situation.inherited.get(variable, situation.job.environment.get(variable))


def first_in_force(situation: Situation, variables: Iterable[str]) -> str:
    """Value of the first of these variables that is set to something, "" when none is."""
    return next((value for name in variables if (value := in_force(situation, name))), "")


def is_on(situation: Situation, variable: str) -> bool:
    """Whether a switch is set, and not to a word for off."""
    value = in_force(situation, variable)
    return bool(value) and str(value).lower() not in _OFF


def rank_count(situation: Situation) -> int:
    """Ranks of the job: as requested, or as many as were seen on this node; at least 1."""
    return max(1, len(situation.observation.ranks), situation.job.ranks or 0)


def ranks_per_node(situation: Situation) -> int:
    """Ranks on the fullest node."""
    return ceil(rank_count(situation) / max(1, situation.nodes))


def cpus_per_node(situation: Situation) -> int:
    """CPUs one node gives to the job."""
    return situation.machine.usable_cpu_count


def is_hybrid(situation: Situation) -> bool:
    """Whether the ranks run an OpenMP runtime."""
    return any(situation.observation.loads(stem) for stem in _OPENMP_RUNTIMES)


def is_oversubscribed(situation: Situation) -> bool:
    """More ranks than CPUs on a node."""
    return situation.observation.oversubscribed or ranks_per_node(situation) > cpus_per_node(situation)


def is_dynamic(situation: Situation) -> bool:
    """Whether preloads and the C library's variables reach the program."""
    return situation.observation.is_dynamic


def unreachable_by_preload(situation: Situation) -> str:
    """Why a library of this machine cannot be put into the ranks, "" when it can."""
    if situation.job.container is not None:
        return "the library of this machine need not fit inside a container"
    if not is_dynamic(situation):
        return f"{NO_C_LIBRARY}, a preload cannot reach it"
    return ""


def glibc_version(situation: Situation) -> tuple[int, ...]:
    """(2, 36); empty when the C library is another one or unknown."""
    name, _, version = situation.machine.libc.partition(" ")
    if name != "glibc":
        return ()
    return tuple(int(part) for part in version.split(".") if number_of(part, -1) >= 0)


def has_adapter(situation: Situation) -> bool:
    """Whether a network is there that needs no IP: InfiniBand, Omni-Path, Slingshot, RoCE."""
    return any(not nic.is_ip for nic in networks(situation))


def networks(situation: Situation) -> tuple[Nic, ...]:
    """Interfaces that can carry messages between nodes, the fastest first."""
    return situation.machine.networks


def uses_ucx(situation: Situation) -> bool:
    """Whether the ranks load UCX, wherever it came from."""
    return situation.observation.loads("libucp.") or situation.observation.loads("libucp-")


def is_threaded(situation: Situation) -> bool:
    """Whether the ranks load something that can start threads: OpenMP or a math library."""
    libraries = ("libopenblas", "libmkl_", "libblis", "libflexiblas")
    return is_hybrid(situation) or any(situation.observation.loads(stem) for stem in libraries)


def threads_per_rank(situation: Situation) -> int:
    """Computing threads of a rank: as requested, else as seen running without the library's helpers."""
    requested = (in_force(situation, "OMP_NUM_THREADS") or "").split(",")[0]
    if number_of(requested):
        return number_of(requested)
    seen = max((rank.threads for rank in situation.observation.ranks), default=1)
    return max(1, seen - situation.mpi.capabilities.helper_threads)
