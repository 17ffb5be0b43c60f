"""Fat tree: nodes below leaf switches, leaves below pods; each switch has as many uplinks as downlinks.

``fat-tree:NODESxLEAVES`` or ``fat-tree:NODESxLEAVESxPODS``: nodes per leaf, leaves per pod, pods. Routing is
d-mod-k (Zahavi 2010): the target's number selects the uplink, so that messages to one target share the links
down.
"""

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, Routed, RoutedNetwork, routed

KIND = "fat-tree"


def described(counts: tuple[int, ...]) -> RoutedNetwork:
    """Build a full fat tree of two or three levels."""
    if len(counts) not in (2, 3):
        raise MpiricError("a fat tree has two or three numbers", hint="--network fat-tree:16x8x4")
    width, leaves, pods = counts if len(counts) == 3 else (*counts, 1)
    nodes = np.arange(width * leaves * pods)
    switches, up = leaves * pods, leaves * pods * width

    def route(one: Numbers, other: Numbers) -> Routed:
        """Number links up from leaves, down to leaves, up from pods, down to pods."""
        leaf, target_leaf = one // width, other // width
        leaves_it = np.flatnonzero(leaf != target_leaf)
        first = other[leaves_it] % width
        parts = [
            (leaves_it, leaf[leaves_it] * width + first),
            (leaves_it, up + target_leaf[leaves_it] * width + first),
        ]
        crosses = np.flatnonzero(leaf // leaves != target_leaf // leaves)
        lane = other[crosses] % (width * leaves)
        span = width * leaves
        parts += [
            (crosses, 2 * up + (leaf[crosses] // leaves) * span + lane),
            (crosses, 3 * up + (target_leaf[crosses] // leaves) * span + lane),
        ]
        return routed(*parts)

    def link_name(link: int) -> str:
        which, number = divmod(link, up)
        group = f"leaf {number // width}" if which < 2 else f"pod {number // (width * leaves)}"
        return f"link {number % width} {'down to' if which % 2 else 'up from'} {group}"

    levels = ("leaf", "pod", "network") if pods > 1 else ("leaf", "network")
    groups = (nodes // width, nodes // (width * leaves)) if pods > 1 else (nodes // width,)
    assert switches * width == up
    return RoutedNetwork(
        KIND, levels, groups, (2.0, 4.0, 6.0)[: len(levels)], np.ones(4 * up), link_name, route
    )
