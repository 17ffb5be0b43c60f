"""Networks: connections between nodes, routes of messages, and groups of nodes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mpiric.model.rank_graph import Numbers, Weights


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
    distance: Callable[[Numbers, Numbers], Weights] | None = (
        None  # only if distances do not follow from the levels (torus)
    )
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
