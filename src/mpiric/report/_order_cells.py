"""Matrix, grid and links of an order, in as many cells as a picture has."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mpiric.model.machine_slots import MachineSlots
from mpiric.model.mapped_ranks import Mapped
from mpiric.model.rank_graph import Numbers, RankGraph, Weights

_MOST_LINKS = 8


@dataclass(frozen=True)
class MatrixCells:
    """Traffic between slots in the tree's order, several of them in a cell where there are many."""

    sums: Weights  # square
    borders: tuple[int, ...]  # cells before which a node begins; () where a cell holds several nodes
    per_cell: float  # slots


def matrix_cells(graph: RankGraph, machine: MachineSlots, slots: Numbers, most: int) -> MatrixCells:
    """Sum the traffic into at most ``most`` rows and columns."""
    count = min(machine.tree.slots, most)
    cell = slots * count // machine.tree.slots
    sums = np.zeros((count, count))
    np.add.at(sums, (cell[graph.sources], cell[graph.targets]), graph.weights)
    nodes = machine.tree.nodes
    begins = np.flatnonzero(np.diff(nodes)) + 1
    at = begins * count // machine.tree.slots
    is_clear = len(np.unique(at)) == len(at) and len(at) * 2 <= count
    return MatrixCells(sums, tuple(at.tolist()) if is_clear else (), machine.tree.slots / count)


def grid_planes(graph: RankGraph, machine: MachineSlots, slots: Numbers, most: int) -> tuple[Numbers, ...]:
    """The node of each rank on the planes of its grid.

    Nothing where ranks lie on none, or its planes are larger than ``most``.
    """
    if len(graph.extents) not in (2, 3) or max(graph.extents[-2:]) > most:
        return ()
    nodes = machine.tree.nodes[slots].reshape(graph.extents)
    return tuple(nodes.reshape(-1, *graph.extents[-2:]))


def busiest_links(mapped: Mapped, machine: MachineSlots) -> Iterator[tuple[str, float, float]]:
    """Name and bytes, before and after, of the links that are busiest in either."""
    before, found = mapped.before.link_loads, mapped.found.link_loads
    if before is None or found is None or machine.network is None:
        return
    for link in np.argsort(-np.maximum(before, found), kind="stable")[:_MOST_LINKS]:
        if before[link] > 0 or found[link] > 0:
            yield machine.network.link_name(int(link)), float(before[link]), float(found[link])
