"""Layout and lines of a job script."""

from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class NodeShape:
    """Hardware of one kind of node."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int = 1

    @property
    def cores(self) -> int:
        """Return the number of physical cores."""
        return self.sockets * self.cores_per_socket


@dataclass(frozen=True)
class BatchLayout:
    """Distribution of a job's ranks and threads over its nodes."""

    nodes: int
    ranks: int
    ranks_per_node: int  # maximum: the last node may have fewer
    threads_per_rank: int
    cores_per_rank: int  # cores of the node per rank; more than threads_per_rank if cores stay idle
    bandwidth_bound: bool = False  # some cores stay idle on purpose
    alternates: bool = False  # ranks are assigned to the sockets in turn, as cores of each socket stay idle
    gpus_per_node: int = 0

    @property
    def kind(self) -> str:
        """Return ``pure MPI`` or ``hybrid``, with ``, bandwidth-bound`` if cores stay idle on purpose."""
        kind = "hybrid" if self.threads_per_rank > 1 else "pure MPI"
        return f"{kind}, bandwidth-bound" if self.bandwidth_bound else kind

    @property
    def gpu_of_rank(self) -> tuple[int, ...]:
        """Return the GPU of each rank of a node for ranks that fill one socket after the other."""
        ranks, gpus = self.ranks_per_node, self.gpus_per_node
        return tuple(rank * gpus // ranks for rank in range(ranks if gpus else 0))


@dataclass(frozen=True)
class ScriptLine:
    """Line of a job script and the reason for it; "" if the line explains itself."""

    text: str
    why: str = ""


@dataclass(frozen=True)
class ScriptCheck:
    """Answer of the scheduler to a test submission of a script."""

    accepted: bool
    message: str


@dataclass(frozen=True)
class Spread:
    """Distribution of runs over the jobs of a job array."""

    jobs: int
    at_once: int = 0  # maximum number of jobs that run at the same time; 0: no limit
    each_s: float = 900.0  # measuring time of one job
