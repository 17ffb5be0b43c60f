"""Dragonfly (Kim, Dally, Scott, Abts 2008): routers joined all to all in groups, groups joined all to all.

``dragonfly:NODESxROUTERSxGROUPS``: nodes of a router, routers of a group, groups. Between two groups there
are as many global links as a balanced network has (a router has as many as it has nodes), counted as one.
Routing is minimal: a local, a global, a local link.
"""

import numpy as np

from mpiric.mapping.networks._global_links import GlobalLinks
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
    links = GlobalLinks(groups * routers * routers, groups, width * routers)

    def gateway(group: Numbers, towards: Numbers) -> Numbers:
        """The router of a group that the link to another group is at."""
        found: Numbers = group * routers + (towards - group - 1) % groups % routers
        return found

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
