"""Slots of a job's nodes as a tree, the launcher's numbering of them, and the network between the nodes."""

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np

from mpiric.model.dataclass import dataclass
from mpiric.model.rank_graph import Numbers, SlotTree, Weights


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
