"""A job script before it is text: its nodes, how ranks and threads fill them, its lines and why."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NodeShape:
    """One kind of node."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int = 1

    @property
    def cores(self) -> int:
        """Physical cores."""
        return self.sockets * self.cores_per_socket


@dataclass(frozen=True)
class BatchLayout:
    """How a job fills its nodes."""

    nodes: int
    ranks: int
    ranks_per_node: int  # at the most: the last node may have fewer
    threads_per_rank: int
    cores_per_rank: int  # its share of the node: above threads_per_rank where cores are left idle
    bandwidth_bound: bool = False  # cores are left idle on purpose
    alternates: bool = False  # ranks are dealt out to the sockets in turn, to fill them evenly
    gpus_per_node: int = 0

    @property
    def kind(self) -> str:
        """``pure MPI``, ``hybrid`` or either with ``bandwidth-bound``."""
        kind = "hybrid" if self.threads_per_rank > 1 else "pure MPI"
        return f"{kind}, bandwidth-bound" if self.bandwidth_bound else kind

    @property
    def gpu_of_rank(self) -> tuple[int, ...]:
        """The GPU of each rank of a node: neighbours in rank, which sit on one socket, share one."""
        ranks, gpus = self.ranks_per_node, self.gpus_per_node
        return tuple(rank * gpus // ranks if ranks > gpus else rank for rank in range(ranks if gpus else 0))


@dataclass(frozen=True)
class ScriptLine:
    """One line of a job script and why it is there; "" for what speaks for itself."""

    text: str
    why: str = ""


@dataclass(frozen=True)
class ScriptCheck:
    """What the scheduler says to a script it was shown without submitting it."""

    accepted: bool
    words: str


@dataclass(frozen=True)
class Spread:
    """Runs dealt out over the jobs of an array."""

    jobs: int
    at_once: int = 0  # that the scheduler may run at the same time; 0: all
    each_s: float = 900.0  # of measuring in one job
