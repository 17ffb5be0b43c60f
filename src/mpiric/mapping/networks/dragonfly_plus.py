"""Dragonfly+ (Shpiner et al. 2017): groups of leaf and spine switches, joined by their spines all to all.

``dragonfly+:NODESxLEAVESxGROUPS``: nodes of a leaf, leaves of a group, groups; a group has a spine for each
node of a leaf. The links between two groups are counted as one. Routing is minimal; the target's number
chooses the spine.
"""

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.network import Routed, RoutedNetwork, routed
from mpiric.model.rank_graph import Numbers

KIND = "dragonfly+"


def described(counts: tuple[int, ...]) -> RoutedNetwork:
    """A dragonfly+ with as many links out of a group as it has nodes."""
    if len(counts) != 3:
        raise MpiricError("a dragonfly+ has three numbers", hint="--network dragonfly+:16x16x5")
    width, leaves, groups = counts
    number = np.arange(width * leaves * groups)
    up = leaves * groups * width

    def route(one: Numbers, other: Numbers) -> Routed:
        leaf, target = one // width, other // width
        moves = np.flatnonzero(leaf != target)
        spine = other[moves] % width
        here, there = leaf // leaves, target // leaves
        crosses = np.flatnonzero(here != there)
        return routed(
            (moves, leaf[moves] * width + spine),
            (moves, up + target[moves] * width + spine),
            (crosses, 2 * up + here[crosses] * groups + there[crosses]),
        )

    def link_name(link: int) -> str:
        if link < 2 * up:
            which, rest = divmod(link, up)
            return f"link {rest % width} {'down to' if which else 'up from'} leaf {rest // width}"
        here, there = divmod(link - 2 * up, groups)
        return f"group {here} to group {there}"

    lanes = max(1.0, width * leaves / max(groups - 1, 1))
    return RoutedNetwork(
        KIND,
        ("leaf", "group", "network"),
        (number // width, number // (width * leaves)),
        (2.0, 4.0, 5.0),
        np.concatenate((np.ones(2 * up), np.full(groups * groups, lanes))),
        link_name,
        route,
    )
