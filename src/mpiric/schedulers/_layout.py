"""How many nodes, ranks on each and cores for each: from a request and the shape of a node. Pure."""

from dataclasses import dataclass

from mpiric.model.batch import BatchLayout, NodeShape
from mpiric.model.errors import MpiricError


@dataclass(frozen=True)
class LayoutRequest:
    """Sizes of a job; 0 for what is to follow from the rest."""

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
    most = shape.cores // cores_per_rank
    if most == 0:
        raise MpiricError(
            f"{request.threads} threads{' on every second core' if spacing == 2 else ''} do not fit a node "
            f"of {shape.cores} cores",
            hint="give fewer --threads",
        )
    per_node = request.ranks_per_node or _even(request, most)
    if per_node > most:
        raise MpiricError(
            f"{per_node} ranks of {cores_per_rank} cores each do not fit a node of {shape.cores} cores",
            hint=f"at the most {most} ranks per node fit",
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
    fills_first = cores_per_rank * on_socket <= shape.cores_per_socket
    return BatchLayout(
        nodes,
        ranks,
        per_node,
        request.threads,
        cores_per_rank,
        bandwidth_bound=request.bandwidth_bound,
        alternates=fills_first and shape.cores_per_socket // cores_per_rank > on_socket,
        gpus_per_node=request.gpus_per_node,
    )


def _even(request: LayoutRequest, most: int) -> int:
    """Ranks a node: as many as fit; with a number of nodes given, as evenly as possible."""
    if request.ranks and request.nodes:
        return min(most, -(-request.ranks // request.nodes))
    return min(most, request.ranks) if request.ranks else most
