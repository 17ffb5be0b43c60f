"""Number of nodes, ranks per node and cores per rank, from a request and the shape of a node."""

from mpiric.model.batch import BatchLayout, NodeShape
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError


@dataclass(frozen=True)
class LayoutRequest:
    """Sizes of a job; 0 for sizes that follow from the others."""

    nodes: int = 0
    ranks: int = 0
    ranks_per_node: int = 0
    threads: int = 1
    bandwidth_bound: bool = False
    gpus_per_node: int = 0


def plan_layout(request: LayoutRequest, shape: NodeShape) -> BatchLayout:
    """Fill nodes as requested; bandwidth-bound jobs use every second core.

    Ranks that leave cores idle get equal shares of each socket, so that its memory and caches are used.

    Raises MpiricError for a layout that does not fit.
    """
    spacing = 2 if request.bandwidth_bound else 1
    cores_per_rank = request.threads * spacing
    max_ranks = shape.cores // cores_per_rank
    if max_ranks == 0:
        raise MpiricError(
            f"{request.threads} threads{' on every second core' if spacing == 2 else ''} do not fit a node "
            f"of {shape.cores} cores",
            hint="give fewer --threads",
        )
    per_node = request.ranks_per_node or _even(request, max_ranks)
    if per_node > max_ranks:
        raise MpiricError(
            f"{per_node} ranks of {cores_per_rank} cores each do not fit a node of {shape.cores} cores",
            hint=f"at the most {max_ranks} ranks per node fit",
        )
    nodes = request.nodes or (-(-request.ranks // per_node) if request.ranks else 1)
    ranks = request.ranks or nodes * per_node
    if ranks > nodes * per_node:
        raise MpiricError(
            f"{ranks} ranks do not fit {nodes} nodes with {per_node} each",
            hint=f"they need {-(-ranks // per_node)} nodes",
        )
    on_socket = -(-per_node // shape.sockets)
    cores_per_rank = max(cores_per_rank, shape.cores_per_socket // on_socket)
    # True if the next rank would begin on cores that are left on the socket.
    leaves_cores = cores_per_rank * on_socket < shape.cores_per_socket
    return BatchLayout(
        nodes,
        ranks,
        per_node,
        request.threads,
        cores_per_rank,
        bandwidth_bound=request.bandwidth_bound,
        alternates=leaves_cores,
        gpus_per_node=request.gpus_per_node,
    )


def _even(request: LayoutRequest, max_ranks: int) -> int:
    """Return the ranks per node: as many as fit; with a number of nodes, as evenly as possible."""
    if request.ranks and request.nodes:
        return min(max_ranks, -(-request.ranks // request.nodes))
    return min(max_ranks, request.ranks) if request.ranks else max_ranks
