"""Shapes of the communicators that the probe of a sweep makes in a world."""

from collections import defaultdict

from mpiric.model.policy import Shape, order_of
from mpiric.workflows.sweep.request import SweepRequest


def shapes_of(request: SweepRequest, nodes: tuple[int, ...]) -> tuple[Shape, ...]:
    """Return the shapes that fit into the world, each on the first nodes."""
    full = max(nodes.count(node) for node in set(nodes))
    halves = [len(nodes) >> shift for shift in range(len(nodes).bit_length())]
    shapes = {}
    for per_node in request.per_node or tuple(dict.fromkeys((full, 1))):
        for ranks in request.ranks or tuple(ranks for ranks in halves if ranks > 1):
            if shape := shape_in(nodes, ranks, per_node):
                shapes[ranks, shape.nodes] = shape
    return tuple(shapes.values())


def shape_of(nodes: tuple[int, ...]) -> Shape:
    """Return the shape of a communicator whose ranks are on these nodes."""
    return Shape(len(nodes), len(set(nodes)), max(nodes.count(node) for node in set(nodes)), order_of(nodes))


def shape_in(nodes: tuple[int, ...], ranks: int, per_node: int) -> Shape | None:
    """Return the shape of the probe's communicator with these ranks; None if it does not fit."""
    node_count = -(-ranks // per_node)
    used: dict[int, int] = defaultdict(int)
    chosen = []
    for node in nodes:
        if node < node_count and used[node] < per_node:
            used[node] += 1
            chosen.append(node)
    return shape_of(tuple(chosen[:ranks])) if len(chosen) >= ranks > 1 else None
