"""RankGraph: who sends how much to whom, as compressed rows. SlotTree: where ranks can sit, how far apart."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RankGraph:
    """A symmetric graph: what two ranks send each other stands in both their rows, half of it in each."""

    offsets: Numbers  # of each rank's row, and the end of the last
    targets: Numbers
    weights: Weights  # positive
    rank_weights: Numbers  # what each rank adds to the load of its slot
    extents: tuple[int, ...] = ()  # of the grid that the ranks lie on, slowest dimension first
    message_counts: Weights | None = None  # like the weights; None: a message each way

    @property
    def messages(self) -> Weights:
        """Messages between two ranks, half of them in the row of each."""
        return np.ones(len(self.targets)) if self.message_counts is None else self.message_counts

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.offsets) - 1

    @property
    def sources(self) -> Numbers:
        """The rank in whose row each arc stands."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))


@dataclass(frozen=True)
class SlotTree:
    """Slots in nested groups, innermost level first; a group of any level is a range of slots."""

    slots: int
    groups: tuple[Numbers, ...]  # for each level the group of each slot; the last level is one group
    distances: tuple[float, ...]  # between two slots whose innermost common group is of that level
    matrix: Weights = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # between groups of the last level but one
    levels: tuple[str, ...] = ()  # names of the levels, where they have any
    node_level: int = 0  # whose groups are nodes

    @property
    def nodes(self) -> Numbers:
        """The node of each slot; where all slots are one group, each slot stands for a node."""
        if len(self.groups) < 2 and not self.levels:
            return np.arange(self.slots)
        return self.groups[self.node_level]

    def between(self, first: Numbers, second: Numbers) -> Weights:
        """The distance of each pair of slots."""
        if self.matrix.size:
            outer = self.groups[-2] if len(self.groups) > 1 else np.arange(self.slots)
            found: Weights = self.matrix[outer[first], outer[second]]
        else:
            found = np.full(len(first), self.distances[-1], dtype=np.float64)
        for group, distance in reversed(list(zip(self.groups[:-1], self.distances[:-1], strict=True))):
            found[group[first] == group[second]] = distance
        found[first == second] = 0.0
        return found


def hop_bytes(graph: RankGraph, tree: SlotTree, slots: Numbers) -> float:
    """Sum over ordered pairs of ranks of what one sends the other times the distance of their slots."""
    return float(np.dot(graph.weights, tree.between(slots[graph.sources], slots[graph.targets])))


def off_node_weight(graph: RankGraph, tree: SlotTree, slots: Numbers) -> float:
    """What all ranks together send out of their nodes."""
    node = tree.nodes
    return float(graph.weights[node[slots[graph.sources]] != node[slots[graph.targets]]].sum())
