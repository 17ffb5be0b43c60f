"""RankGraph: traffic between ranks as a sparse matrix. SlotTree: positions of ranks and their distances."""

from dataclasses import field

import numpy as np
import numpy.typing as npt

from mpiric.model.dataclass import dataclass

Numbers = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RankGraph:
    """Symmetric graph in compressed sparse rows: each row has half of the traffic between two ranks."""

    offsets: Numbers  # start of each rank's row, and the end of the last row
    targets: Numbers
    weights: Weights  # positive
    rank_weights: Numbers  # load that each rank adds to its slot
    extents: tuple[int, ...] = ()  # size of the ranks' grid, slowest dimension first
    # Same structure as the weights; None: one message in each direction.
    message_counts: Weights | None = None

    @property
    def messages(self) -> Weights:
        """Return the numbers of messages between two ranks, one half in each row."""
        return np.ones(len(self.targets)) if self.message_counts is None else self.message_counts

    @property
    def size(self) -> int:
        """Return the number of ranks."""
        return len(self.offsets) - 1

    @property
    def sources(self) -> Numbers:
        """Return the rank of the row that contains each arc."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))


@dataclass(frozen=True)
class SlotTree:
    """Slots in nested groups, innermost level first; a group of any level is a contiguous range of slots."""

    slots: int
    groups: tuple[Numbers, ...]  # group of each slot at each level; the last level is one group
    distances: tuple[float, ...]  # distance of slots whose innermost common group is at level i
    # Distances between groups of the second to last level.
    matrix: Weights = field(default_factory=lambda: np.zeros((0, 0)))
    levels: tuple[str, ...] = ()  # names of the levels, if they have names
    node_level: int = 0  # level whose groups are nodes

    @property
    def nodes(self) -> Numbers:
        """Return the node of each slot; if all slots are one group, each slot is a node."""
        if len(self.groups) < 2 and not self.levels:
            return np.arange(self.slots)
        return self.groups[self.node_level]

    def between(self, first: Numbers, second: Numbers) -> Weights:
        """Return the distance of each pair of slots."""
        if self.matrix.size:
            outer = self.groups[-2] if len(self.groups) > 1 else np.arange(self.slots)
            distances: Weights = self.matrix[outer[first], outer[second]]
        else:
            distances = np.full(len(first), self.distances[-1], dtype=np.float64)
        for group, distance in reversed(list(zip(self.groups[:-1], self.distances[:-1], strict=True))):
            distances[group[first] == group[second]] = distance
        distances[first == second] = 0.0
        return distances


def hop_bytes(graph: RankGraph, tree: SlotTree, slots: Numbers) -> float:
    """Return the sum over ordered pairs of ranks: bytes times the distance of their slots."""
    return float(np.dot(graph.weights, tree.between(slots[graph.sources], slots[graph.targets])))


def off_node_weight(graph: RankGraph, tree: SlotTree, slots: Numbers) -> float:
    """Return the total traffic between different nodes."""
    node = tree.nodes
    return float(graph.weights[node[slots[graph.sources]] != node[slots[graph.targets]]].sum())
