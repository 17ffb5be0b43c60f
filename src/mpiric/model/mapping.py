"""Mapping of ranks: traffic between ranks, slots of the nodes with the network between them, and the result.

RankGraph is a sparse matrix of traffic. SlotTree holds positions of ranks and their distances. MachineSlots
adds the numbering of slots by the launcher. Mapped is a rank order with its predicted effects.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum

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


@dataclass(frozen=True)
class Routed:
    """Links that messages use: pairs of a message and one of its links, in two arrays of the same length."""

    messages: Numbers  # position in the list of messages
    links: Numbers


@dataclass(frozen=True)
class RoutedNetwork:
    """Network of the nodes 0 … n-1 and switches, and one-way links between switches."""

    kind: str  # "fat-tree", "dragonfly", "dragonfly+", "torus", "switches"
    levels: tuple[str, ...]  # names of the group levels, innermost first; the last is the whole network
    groups: tuple[Numbers, ...]  # group of each node, for each level except the last
    hops: tuple[float, ...]  # number of links between nodes whose innermost common group is at level i
    link_speeds: Weights  # speed of each link, relative to the link of a node
    link_name: Callable[[int], str]
    route: Callable[[Numbers, Numbers], Routed]  # (source nodes, target nodes) → links
    # Only if distances do not follow from the levels (torus).
    distance: Callable[[Numbers, Numbers], Weights] | None = None
    names: tuple[str, ...] = ()  # names of the nodes, if known
    extents: tuple[int, ...] = ()  # size of each dimension of a torus

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.names) or (len(self.groups[0]) if self.groups else int(np.prod(self.extents)))

    def link_loads(self, sources: Numbers, targets: Numbers, weights: Weights) -> Weights:
        """Return the traffic over each link divided by its speed, for messages between pairs of nodes."""
        routed = self.route(sources, targets)
        sums = np.bincount(routed.links, weights=weights[routed.messages], minlength=len(self.link_speeds))
        loads: Weights = sums / self.link_speeds
        return loads


def routed(*parts: tuple[Numbers, Numbers]) -> Routed:
    """Return the routes from parts of (messages, links)."""
    none = np.zeros(0, dtype=np.int64)
    return Routed(
        np.concatenate([none, *(part[0] for part in parts)]),
        np.concatenate([none, *(part[1] for part in parts)]),
    )


@dataclass(frozen=True)
class LevelCost:
    """Cost of a message between two slots whose innermost common group is at a level."""

    latency_us: float
    bandwidth_mb_s: float  # 10⁶ bytes a second

    def us(self, size_bytes: float) -> float:
        """Return the time of a message in microseconds."""
        return self.latency_us + size_bytes / self.bandwidth_mb_s


@dataclass(frozen=True)
class MachineSpec:
    """Machine, as files, options and records describe it; unspecified fields are empty."""

    hosts: tuple[str, ...] = ()  # order of the launcher
    slots: tuple[int, ...] = ()  # slots of each host; a single number applies to all
    inside: tuple[tuple[str, tuple[int, ...]], ...] = ()  # level in a node → group of each slot position
    network: RoutedNetwork | None = None
    positions: Mapping[str, int] = field(default_factory=dict)  # host → node of the network
    distances: Mapping[str, float] = field(default_factory=dict)  # level → distance
    costs: Mapping[str, LevelCost] = field(default_factory=dict)  # level → cost
    costs_source: str = ""  # "" if they are assumed
    nics: int = 1  # NICs per node


@dataclass(frozen=True)
class MachineSlots:
    """Slots, numbered so that each group is a contiguous range; the launcher's numbers may differ."""

    tree: SlotTree
    hosts: tuple[str, ...]  # host of each slot
    launch_slots: Numbers  # launcher's number of each slot
    costs: tuple[LevelCost, ...]  # cost at each level of the tree
    costs_source: str = ""  # "" if they are assumed
    network: RoutedNetwork | None = None
    network_nodes: Numbers | None = None  # node of the network for each node of the tree
    nics: int = 1

    @classmethod
    def plain(cls, tree: SlotTree, hosts: tuple[str, ...] = ()) -> "MachineSlots":
        """Return slots with the launcher's numbering equal to the tree's, without costs."""
        return cls(tree, hosts, np.arange(tree.slots), ())

    @property
    def has_costs(self) -> bool:
        """Return whether times can be computed: costs are known, or at least the kind of network is."""
        return bool(self.costs) and (bool(self.costs_source) or self.network is not None)

    @property
    def launch_hosts(self) -> tuple[str, ...]:
        """Return the host of each slot in the launcher's numbering."""
        hosts = [""] * len(self.hosts)
        for slot, host in enumerate(self.hosts):
            hosts[self.launch_slots[slot]] = host
        return tuple(hosts)


LEAST_GAIN = 0.01  # minimum predicted gain that justifies a changed order


class OrderVerdict(str, Enum):
    """Recommendation on a changed order."""

    GAIN = "gain expected"
    NO_GAIN = "no gain expected"  # no better order was found
    NO_NEED = "no need"  # the order is better, but the predicted time is the same


@dataclass(frozen=True)
class OrderCost:
    """Cost of a rank order."""

    hop_bytes: float  # weight times distance, over ordered pairs
    off_node: float  # bytes sent between nodes
    goal: float  # value of the objective that was minimised
    heaviest_use: float = 0.0  # load of the most loaded node on a shared resource
    time_s: float | None = None  # predicted time of all traffic; None without costs
    busiest: str = ""  # resource that limits the time
    link_loads: Weights | None = None  # bytes over each network link, divided by its speed
    busiest_links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mapped:
    """Rank order and its predicted effects."""

    slots: Numbers
    slots_before: Numbers
    after: OrderCost
    before: OrderCost
    goal: str  # "hop-bytes", "off-node", "worst-link", "nic-messages"
    algorithm: str
    proposals: dict[str, float]  # algorithm → objective of its order divided by the given order's
    seconds: float
    heaviest_slot: int
    capacity: int  # 0: one rank per slot
    costs_source: str = ""  # source of the costs for the predicted time; "" if they are assumed

    @property
    def objective(self) -> float:
        """Return the weighted hop-bytes of the new order."""
        return self.after.hop_bytes

    @property
    def objective_identity(self) -> float:
        """Return the weighted hop-bytes of the given order."""
        return self.before.hop_bytes

    @property
    def gain(self) -> float:
        """Return the share of the objective that the order saves."""
        return _saved(self.before.goal, self.after.goal)

    @property
    def time_gain(self) -> float | None:
        """Return the share of the predicted time of all traffic that the order saves."""
        if self.before.time_s is None or self.after.time_s is None:
            return None
        return _saved(self.before.time_s, self.after.time_s)

    @property
    def verdict(self) -> OrderVerdict:
        """Return the recommendation for this order."""
        is_spread = _saved(self.before.heaviest_use, self.after.heaviest_use) >= LEAST_GAIN
        if is_spread:
            return OrderVerdict.GAIN
        if self.gain < LEAST_GAIN:
            return OrderVerdict.NO_GAIN
        if self.time_gain is not None and self.time_gain < LEAST_GAIN:
            return OrderVerdict.NO_NEED
        return OrderVerdict.GAIN

    @property
    def is_worthwhile(self) -> bool:
        """Return whether a gain can be expected."""
        return self.verdict is OrderVerdict.GAIN


@dataclass(frozen=True)
class OrderProposal:
    """Rank order, with the traffic and the machine it was computed for."""

    mapped: Mapped
    graph: RankGraph
    machine: MachineSlots


def _saved(before: float, after: float) -> float:
    return 1 - after / before if before > 0 else 0.0


@dataclass(frozen=True)
class CollectiveModel:
    """Calls of a collective on communicators of one size, or the reason why they were ignored."""

    collective: str
    ranks: int  # size of the communicator
    calls: int
    algorithm: str  # "" if the calls were ignored
    source: str  # source of the algorithm's name, or reason why the calls were ignored
    bytes: float  # total bytes sent between ranks


@dataclass(frozen=True)
class RecordedRun:
    """Times of a run, and the algorithms by which its collective calls were converted to pairs."""

    wall_s: float
    exchange_s: float  # time in calls that exchange data, including waiting; mean of the ranks
    exact_bytes: float  # bytes of messages and one-sided transfers
    collectives: tuple[CollectiveModel, ...]  # the heaviest first

    def predicted_s(self, time_gain: float) -> float:
        """Return the run time if the exchange takes this share less; a lower bound, due to waiting times."""
        return self.wall_s - self.exchange_s * time_gain
