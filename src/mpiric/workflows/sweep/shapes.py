"""Shapes of the communicators that the probe of a sweep makes in a world."""

from collections import defaultdict

from mpiric.model.policy import Shape, order_of
from mpiric.workflows.sweep.request import SweepRequest


def shapes_of(request: SweepRequest, nodes: tuple[int, ...]) -> tuple[Shape, ...]:
    """Shapes that the world has room for, each on the first nodes."""
    most = max(nodes.count(node) for node in set(nodes))
    halves = [len(nodes) >> shift for shift in range(len(nodes).bit_length())]
    found = {}
    for per_node in request.per_node or tuple(dict.fromkeys((most, 1))):
        for ranks in request.ranks or tuple(ranks for ranks in halves if ranks > 1):
            if shape := shape_in(nodes, ranks, per_node):
                found[ranks, shape.nodes] = shape
    return tuple(found.values())


def shape_of(nodes: tuple[int, ...]) -> Shape:
    """Shape of a communicator whose ranks are on these nodes."""
    return Shape(len(nodes), len(set(nodes)), max(nodes.count(node) for node in set(nodes)), order_of(nodes))


def shape_in(nodes: tuple[int, ...], ranks: int, per_node: int) -> Shape | None:
    """Shape of the communicator that the probe makes of these ranks; None when there is no room for it."""
    wanted = -(-ranks // per_node)
    taken: dict[int, int] = defaultdict(int)
    chosen = []
    for node in nodes:
        if node < wanted and taken[node] < per_node:
            taken[node] += 1
            chosen.append(node)
    return shape_of(tuple(chosen[:ranks])) if len(chosen) >= ranks > 1 else None
