"""Dragonfly (Kim, Dally, Scott, Abts 2008): routers fully connected in groups, groups fully connected.

``dragonfly:NODESxROUTERSxGROUPS``: nodes per router, routers per group, groups. A router has as many global
links as nodes (balanced); the global links between two groups count as one. Routing is minimal: local link,
global link, local link.
"""

import numpy as np

from mpiric.mapping.networks._links import GlobalLinks
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, Routed, RoutedNetwork, routed

KIND = "dragonfly"


def described(counts: tuple[int, ...]) -> RoutedNetwork:
    """Build a dragonfly with a balanced number of global links."""
    if len(counts) != 3:
        raise MpiricError("a dragonfly has three numbers", hint="--network dragonfly:4x8x9")
    width, routers, groups = counts
    number = np.arange(width * routers * groups)
    links = GlobalLinks(groups * routers * routers, groups, width * routers)

    def gateway(group: Numbers, towards: Numbers) -> Numbers:
        """Return the router of a group that has the link to another group."""
        router: Numbers = group * routers + (towards - group - 1) % groups % routers
        return router

    def local_links(at: Numbers, to: Numbers, which: Numbers) -> tuple[Numbers, Numbers]:
        moves = at != to
        return which[moves], at[moves] * routers + to[moves] % routers

    def route(sources: Numbers, targets: Numbers) -> Routed:
        router, target_router = sources // width, targets // width
        group, target_group = router // routers, target_router // routers
        inside = np.flatnonzero(group == target_group)
        outside = np.flatnonzero(group != target_group)
        first, last = group[outside], target_group[outside]
        return routed(
            local_links(router[inside], target_router[inside], inside),
            local_links(router[outside], gateway(first, last), outside),
            (outside, links.between(first, last)),
            local_links(gateway(last, first), target_router[outside], outside),
        )

    def link_name(link: int) -> str:
        if link >= links.first:
            return links.name(link)
        router, target = divmod(link, routers)
        return f"router {router} to router {router // routers * routers + target}"

    return RoutedNetwork(
        KIND,
        ("router", "group", "network"),
        (number // width, number // (width * routers)),
        (2.0, 3.0, 5.0),
        links.speeds,
        link_name,
        route,
    )
