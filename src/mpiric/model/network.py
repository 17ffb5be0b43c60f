"""Networks: how nodes are joined, which links a message between two takes, and in which groups they lie."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mpiric.model.rank_graph import Numbers, Weights


@dataclass(frozen=True)
class Routed:
    """Links that messages take, flat: one of the messages and one of its links in each place."""

    messages: Numbers  # position among the messages asked for
    links: Numbers


@dataclass(frozen=True)
class RoutedNetwork:
    """Nodes 0 … n-1 under switches; links carry traffic one way. A node's own link is not among them."""

    kind: str  # "fat-tree", "dragonfly", "dragonfly+", "torus", "switches"
    levels: tuple[str, ...]  # of groups of nodes, innermost first; the last is the whole network
    groups: tuple[Numbers, ...]  # of each node, for each level but the last
    hops: tuple[float, ...]  # links between two nodes whose innermost common group is of that level
    link_speeds: Weights  # of each link, in those of a node's own
    link_name: Callable[[int], str]
    route: Callable[[Numbers, Numbers], Routed]  # from nodes to nodes
    distance: Callable[[Numbers, Numbers], Weights] | None = None  # where levels do not tell it: a torus
    names: tuple[str, ...] = ()  # of the nodes, where they are known
    extents: tuple[int, ...] = ()  # of a torus

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.names) or (len(self.groups[0]) if self.groups else int(np.prod(self.extents)))

    def link_loads(self, sources: Numbers, targets: Numbers, weights: Weights) -> Weights:
        """What each link carries, over its speed, when node sends to node."""
        routed = self.route(sources, targets)
        sums = np.bincount(routed.links, weights=weights[routed.messages], minlength=len(self.link_speeds))
        loads: Weights = sums / self.link_speeds
        return loads


def routed(*parts: tuple[Numbers, Numbers]) -> Routed:
    """Routes from parts of (messages, links)."""
    none = np.zeros(0, dtype=np.int64)
    return Routed(
        np.concatenate([none, *(part[0] for part in parts)]),
        np.concatenate([none, *(part[1] for part in parts)]),
    )
