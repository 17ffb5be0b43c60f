"""Which of the processes below a launcher are the ranks: a pure function of what was seen of them.

Between launcher and rank there may be shells, ``numactl``, container engines, Python, a script that
calls mpirun itself. Of a chain of processes that carry the same rank number, the first that maps an
MPI library is the rank; when none does (a static program), the first that is no known wrapper.
"""

_LAUNCHERS = frozenset(
    (
        "mpirun mpiexec mpiexec.hydra mpiexec.openmpi mpirun.openmpi mpiexec.mpich mpirun.mpich "
        "hydra_pmi_proxy hydra_bstrap_proxy pmi_proxy orterun orted prterun prte prted prun srun slurmstepd "
        "aprun apinit apshepherd palsrun palsd jsrun prterun_wrapper ompirun_wrapper ssh rsh"
    ).split()
)
_WRAPPERS = frozenset(
    (
        "sh bash dash zsh ksh fish tcsh csh env time nice ionice taskset numactl stdbuf timeout strace "
        "ltrace gdb perf valgrind apptainer singularity starter starter-suid ch-run podman conmon crun runc "
        "bwrap unshare setarch hwloc-bind xargs tee busybox"
    ).split()
)
_RANK_VARIABLES = (
    *(b"OMPI_COMM_WORLD_RANK", b"PMI_RANK", b"PMIX_RANK", b"PALS_RANKID", b"ALPS_APP_PE"),
    *(b"SLURM_PROCID", b"MPI_LOCALRANKID"),
)
_MOST_DIGITS = 9  # of a rank; an environment may hold anything
_MPI_STEMS = ("libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_cray", "libmpi_gnu", "libmpicxx.so")


class ObservedProcess:
    """A process as far as the choice needs it."""

    __slots__ = ("maps_mpi", "parent", "pid", "program", "rank")

    def __init__(self, pid: int, parent: int, program: str, rank: int | None, *, maps_mpi: bool) -> None:
        self.pid = pid
        self.parent = parent
        self.program = program
        self.rank = rank
        self.maps_mpi = maps_mpi

    @property
    def is_launcher(self) -> bool:
        """Whether it only starts ranks."""
        return self.program.rsplit("/", 1)[-1] in _LAUNCHERS

    @property
    def is_wrapper(self) -> bool:
        """Whether it only starts another program."""
        return self.program.rsplit("/", 1)[-1] in _WRAPPERS


def rank_of(environment: dict[bytes, bytes], outer: dict[str, str]) -> int | None:
    """The world rank an environment tells, None when it tells none.

    ``outer`` is the environment of the launcher: a batch script's own SLURM_PROCID says nothing.
    """
    for name in _RANK_VARIABLES:
        value = environment.get(name, b"")
        if value.isdigit() and len(value) <= _MOST_DIGITS and outer.get(name.decode()) != value.decode():
            return int(value)
    return None


def is_mpi_library(path: str) -> bool:
    """Whether a mapped file is an MPI library that programs link to."""
    return path.rsplit("/", 1)[-1].startswith(_MPI_STEMS)


def choose_ranks(processes: list[ObservedProcess]) -> list[ObservedProcess]:
    """The ranks among ``processes``, which are given parents before children.

    Without any rank number (a program started without a launcher) it is the one process that maps
    an MPI library, or else the first real program.
    """
    candidates = [seen for seen in processes if not seen.is_launcher]
    numbered = [seen for seen in candidates if seen.rank is not None]
    if not numbered:
        chosen = _best(candidates)
        return [chosen] if chosen is not None else []
    parents = {seen.pid: seen.parent for seen in processes}
    chains: dict[tuple[int, int | None], list[ObservedProcess]] = {}
    tops: dict[int, tuple[int, int | None]] = {}
    for seen in numbered:
        above = tops.get(seen.parent)
        key = above if above is not None and above[1] == seen.rank else (seen.pid, seen.rank)
        tops[seen.pid] = key
        chains.setdefault(key, []).append(seen)
    best = [chosen for chain in chains.values() if (chosen := _best(chain)) is not None]
    outer = {pid for seen in best if seen.maps_mpi for pid in _ancestors(seen.pid, parents)}
    return [seen for seen in best if seen.maps_mpi or seen.pid not in outer]


def _best(chain: list[ObservedProcess]) -> ObservedProcess | None:
    for seen in chain:
        if seen.maps_mpi:
            return seen
    for seen in chain:
        if not seen.is_wrapper:
            return seen
    return chain[-1] if chain else None


def _ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    found = []
    while (pid := parents.get(pid, 0)) != 0:
        found.append(pid)
    return found
