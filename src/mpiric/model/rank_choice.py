"""Selection of the ranks among the processes of a launch, as a pure function.

Between launcher and rank there may be shells, ``numactl``, container engines, Python, or a script that
calls mpirun. In a chain of processes with the same rank number, the rank is the first process that maps an
MPI library; if none does (static program), the first process that is not a known wrapper.
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
_MOST_DIGITS = 9  # limit for rank numbers; variables may contain any text
_MPI_STEMS = ("libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_cray", "libmpi_gnu", "libmpicxx.so")


class ObservedProcess:
    """Properties of a process that the selection needs."""

    __slots__ = ("maps_mpi", "parent", "pid", "program", "rank")

    def __init__(self, pid: int, parent: int, program: str, rank: int | None, *, maps_mpi: bool) -> None:
        self.pid = pid
        self.parent = parent
        self.program = program
        self.rank = rank
        self.maps_mpi = maps_mpi

    @property
    def is_launcher(self) -> bool:
        """Return whether its only purpose is to start ranks."""
        return self.program.rsplit("/", 1)[-1] in _LAUNCHERS


def rank_of(environment: dict[bytes, bytes], outer: dict[str, str]) -> int | None:
    """Return the world rank from environment variables, None without one.

    ``outer`` is the environment of the launcher; values that are equal there, like SLURM_PROCID of a batch
    script, are ignored.
    """
    for name in _RANK_VARIABLES:
        value = environment.get(name, b"")
        if value.isdigit() and len(value) <= _MOST_DIGITS and outer.get(name.decode()) != value.decode():
            return int(value)
    return None


def is_mpi_library(path: str) -> bool:
    """Return whether a mapped file is an MPI library that programs link to."""
    return path.rsplit("/", 1)[-1].startswith(_MPI_STEMS)


def choose_ranks(processes: list[ObservedProcess]) -> list[ObservedProcess]:
    """Return the ranks among ``processes``, in which parents precede children.

    Without rank numbers (a program started without a launcher) the result is the process that maps an MPI
    library, or else the first process that is not a launcher or wrapper.
    """
    candidates = [process for process in processes if not process.is_launcher]
    numbered = [process for process in candidates if process.rank is not None]
    if not numbered:
        chosen = _best(candidates)
        return [chosen] if chosen is not None else []
    parents = {process.pid: process.parent for process in processes}
    chains: dict[tuple[int, int | None], list[ObservedProcess]] = {}
    tops: dict[int, tuple[int, int | None]] = {}
    for process in numbered:
        above = tops.get(process.parent)
        key = above if above is not None and above[1] == process.rank else (process.pid, process.rank)
        tops[process.pid] = key
        chains.setdefault(key, []).append(process)
    best = [chosen for chain in chains.values() if (chosen := _best(chain)) is not None]
    outer = {pid for process in best if process.maps_mpi for pid in _ancestors(process.pid, parents)}
    return [process for process in best if process.maps_mpi or process.pid not in outer]


def _best(chain: list[ObservedProcess]) -> ObservedProcess | None:
    for process in chain:
        if process.maps_mpi:
            return process
    for process in chain:
        if process.program.rsplit("/", 1)[-1] not in _WRAPPERS:
            return process
    return chain[-1] if chain else None


def _ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    ancestors = []
    while (pid := parents.get(pid, 0)) != 0:
        ancestors.append(pid)
    return ancestors
