"""Matrix, grid and links of a rank order, reduced to the number of cells of a picture."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mpiric.model.machine_slots import MachineSlots
from mpiric.model.mapped_ranks import Mapped
from mpiric.model.rank_graph import Numbers, RankGraph, Weights

_MOST_LINKS = 8


@dataclass(frozen=True)
class MatrixCells:
    """Traffic between slots in tree order; a cell holds several slots of a large machine."""

    sums: Weights  # square matrix
    borders: tuple[int, ...]  # first cells of nodes; () if cells hold several nodes
    per_cell: float  # slots per cell


def matrix_cells(graph: RankGraph, machine: MachineSlots, slots: Numbers, limit: int) -> MatrixCells:
    """Add up the traffic into at most ``limit`` rows and columns."""
    count = min(machine.tree.slots, limit)
    cell = slots * count // machine.tree.slots
    sums = np.zeros((count, count))
    np.add.at(sums, (cell[graph.sources], cell[graph.targets]), graph.weights)
    nodes = machine.tree.nodes
    begins = np.flatnonzero(np.diff(nodes)) + 1
    at = begins * count // machine.tree.slots
    is_clear = len(np.unique(at)) == len(at) and len(at) * 2 <= count
    return MatrixCells(sums, tuple(at.tolist()) if is_clear else (), machine.tree.slots / count)


def grid_planes(graph: RankGraph, machine: MachineSlots, slots: Numbers, limit: int) -> tuple[Numbers, ...]:
    """Return the node of each rank on the planes of its grid; () without a grid of at most ``limit``."""
    if len(graph.extents) not in (2, 3) or max(graph.extents[-2:]) > limit:
        return ()
    nodes = machine.tree.nodes[slots].reshape(graph.extents)
    return tuple(nodes.reshape(-1, *graph.extents[-2:]))


def busiest_links(mapped: Mapped, machine: MachineSlots) -> Iterator[tuple[str, float, float]]:
    """Yield name, bytes before and bytes after of the busiest links."""
    before, after = mapped.before.link_loads, mapped.after.link_loads
    if before is None or after is None or machine.network is None:
        return
    for link in np.argsort(-np.maximum(before, after), kind="stable")[:_MOST_LINKS]:
        if before[link] > 0 or after[link] > 0:
            yield machine.network.link_name(int(link)), float(before[link]), float(after[link])
