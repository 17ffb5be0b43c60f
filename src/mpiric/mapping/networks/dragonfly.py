"""Dragonfly (Kim, Dally, Scott, Abts 2008): routers joined all to all in groups, groups joined all to all.

``dragonfly:NODESxROUTERSxGROUPS``: nodes of a router, routers of a group, groups. Between two groups there
are as many global links as a balanced network has (a router has as many as it has nodes), counted as one.
Routing is minimal: a local, a global, a local link.
"""

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.network import Routed, RoutedNetwork, routed
from mpiric.model.rank_graph import Numbers

KIND = "dragonfly"


def described(counts: tuple[int, ...]) -> RoutedNetwork:
    """A dragonfly with a balanced share of global links."""
    if len(counts) != 3:
        raise MpiricError("a dragonfly has three numbers", hint="--network dragonfly:4x8x9")
    width, routers, groups = counts
    number = np.arange(width * routers * groups)
    local = groups * routers * routers

    def gateway(group: Numbers, towards: Numbers) -> Numbers:
        """The router of a group that the link to another group is at."""
        found: Numbers = group * routers + (towards - group - 1) % groups % routers
        return found

    def local_links(at: Numbers, to: Numbers, which: Numbers) -> tuple[Numbers, Numbers]:
        moves = at != to
        return which[moves], at[moves] * routers + to[moves] % routers

    def route(one: Numbers, other: Numbers) -> Routed:
        router, target = one // width, other // width
        group, target_group = router // routers, target // routers
        inside = np.flatnonzero(group == target_group)
        outside = np.flatnonzero(group != target_group)
        here, there = group[outside], target_group[outside]
        return routed(
            local_links(router[inside], target[inside], inside),
            local_links(router[outside], gateway(here, there), outside),
            (outside, local + here * groups + there),
            local_links(gateway(there, here), target[outside], outside),
        )

    def link_name(link: int) -> str:
        if link < local:
            router, other = divmod(link, routers)
            return f"router {router} to router {router // routers * routers + other}"
        here, there = divmod(link - local, groups)
        return f"group {here} to group {there}"

    lanes = max(1.0, width * routers / max(groups - 1, 1))
    speeds = np.concatenate((np.ones(local), np.full(groups * groups, lanes)))
    return RoutedNetwork(
        KIND,
        ("router", "group", "network"),
        (number // width, number // (width * routers)),
        (2.0, 3.0, 5.0),
        speeds,
        link_name,
        route,
    )
