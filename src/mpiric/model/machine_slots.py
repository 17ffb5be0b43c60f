"""MachineSlots: the slots of a job's nodes as a tree, and how the launcher counts them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mpiric.model.network import RoutedNetwork
from mpiric.model.rank_graph import Numbers, SlotTree


@dataclass(frozen=True)
class LevelCost:
    """What a message costs between two slots whose innermost common group is of a level."""

    latency_us: float
    bandwidth_mb_s: float  # 10⁶ bytes a second

    def us(self, size_bytes: float) -> float:
        """Microseconds for one message."""
        return self.latency_us + size_bytes / self.bandwidth_mb_s


@dataclass(frozen=True)
class MachineSpec:
    """A machine as files, options and records describe it; what is not said is empty."""

    hosts: tuple[str, ...] = ()  # as the launcher fills them
    slots: tuple[int, ...] = ()  # of each host; a single number counts for all
    inside: tuple[tuple[str, tuple[int, ...]], ...] = ()  # level in a node → group of each of its places
    network: RoutedNetwork | None = None
    positions: Mapping[str, int] = field(default_factory=dict)  # host → node of the network
    distances: Mapping[str, float] = field(default_factory=dict)  # level → distance
    costs: Mapping[str, LevelCost] = field(default_factory=dict)  # level → cost
    costs_source: str = ""  # "" where they are assumed
    nics: int = 1  # of a node


@dataclass(frozen=True)
class MachineSlots:
    """Slots numbered so that each group is a range of them, which need not be the launcher's numbers."""

    tree: SlotTree
    hosts: tuple[str, ...]  # of each slot
    launch_slots: Numbers  # the launcher's number of each slot
    costs: tuple[LevelCost, ...]  # of each level of the tree
    costs_source: str = ""  # "" where they are assumed
    network: RoutedNetwork | None = None
    network_nodes: Numbers | None = None  # node of the network that each node of the tree is
    nics: int = 1

    @classmethod
    def plain(cls, tree: SlotTree, hosts: tuple[str, ...] = ()) -> "MachineSlots":
        """Slots that the launcher counts as the tree does, of a machine whose costs are not known."""
        return cls(tree, hosts, np.arange(tree.slots), ())

    @property
    def has_costs(self) -> bool:
        """Whether times can be told: costs are measured or described, or the kind of network is known."""
        return bool(self.costs) and (bool(self.costs_source) or self.network is not None)

    @property
    def launch_hosts(self) -> tuple[str, ...]:
        """The host of each slot as the launcher numbers them."""
        found = [""] * len(self.hosts)
        for slot, host in enumerate(self.hosts):
            found[self.launch_slots[slot]] = host
        return tuple(found)
