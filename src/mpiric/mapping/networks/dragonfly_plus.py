"""Dragonfly+ (Shpiner et al. 2017): groups of leaf and spine switches, fully connected by their spines.

``dragonfly+:NODESxLEAVESxGROUPS``: nodes per leaf, leaves per group, groups; a group has one spine per node
of a leaf. The links between two groups count as one. Routing is minimal; the target selects the spine.
"""

import numpy as np

from mpiric.mapping.networks._links import GlobalLinks
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, Routed, RoutedNetwork, routed

KIND = "dragonfly+"


def described(counts: tuple[int, ...]) -> RoutedNetwork:
    """Build a dragonfly+ in which a group has as many outgoing links as nodes."""
    if len(counts) != 3:
        raise MpiricError("a dragonfly+ has three numbers", hint="--network dragonfly+:16x16x5")
    width, leaves, groups = counts
    nodes = np.arange(width * leaves * groups)
    up = leaves * groups * width
    links = GlobalLinks(2 * up, groups, width * leaves)

    def route(sources: Numbers, targets: Numbers) -> Routed:
        leaf, target_leaf = sources // width, targets // width
        moves = np.flatnonzero(leaf != target_leaf)
        spine = targets[moves] % width
        group, target_group = leaf // leaves, target_leaf // leaves
        crosses = np.flatnonzero(group != target_group)
        return routed(
            (moves, leaf[moves] * width + spine),
            (moves, up + target_leaf[moves] * width + spine),
            (crosses, links.between(group[crosses], target_group[crosses])),
        )

    def link_name(link: int) -> str:
        if link >= links.first:
            return links.name(link)
        which, number = divmod(link, up)
        return f"link {number % width} {'down to' if which else 'up from'} leaf {number // width}"

    return RoutedNetwork(
        KIND,
        ("leaf", "group", "network"),
        (nodes // width, nodes // (width * leaves)),
        (2.0, 4.0, 5.0),
        links.speeds,
        link_name,
        route,
    )
