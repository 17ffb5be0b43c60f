"""Fat tree: nodes under leaf switches, leaves under pods; as many links up from each switch as down.

``fat-tree:NODESxLEAVES`` or ``fat-tree:NODESxLEAVESxPODS``: nodes of a leaf, leaves of a pod, pods. Routing
is d-mod-k (Zahavi 2010): the target's number chooses the link up, so that messages to one target share a path
down.
"""

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.network import Routed, RoutedNetwork, routed
from mpiric.model.rank_graph import Numbers

KIND = "fat-tree"


def described(counts: tuple[int, ...]) -> RoutedNetwork:
    """A full fat tree of two or three levels."""
    if len(counts) not in (2, 3):
        raise MpiricError("a fat tree has two or three numbers", hint="--network fat-tree:16x8x4")
    width, leaves, pods = counts if len(counts) == 3 else (*counts, 1)
    number = np.arange(width * leaves * pods)
    switches, up = leaves * pods, leaves * pods * width

    def route(one: Numbers, other: Numbers) -> Routed:
        """Links: up from leaves, down to leaves, up from pods, down to pods; in each group by its switch."""
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
        which, rest = divmod(link, up)
        group = f"leaf {rest // width}" if which < 2 else f"pod {rest // (width * leaves)}"
        return f"link {rest % width} {'down to' if which % 2 else 'up from'} {group}"

    levels = ("leaf", "pod", "network") if pods > 1 else ("leaf", "network")
    groups = (number // width, number // (width * leaves)) if pods > 1 else (number // width,)
    assert switches * width == up
    return RoutedNetwork(
        KIND, levels, groups, (2.0, 4.0, 6.0)[: len(levels)], np.ones(4 * up), link_name, route
    )
