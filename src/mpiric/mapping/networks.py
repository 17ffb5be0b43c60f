"""Kinds of networks between nodes, described by numbers (``torus:8x8x4``), and links between their groups."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, Routed, RoutedNetwork, Weights, routed

_MOST_NODES = 2**20
_MOST_LINKS = 2**26
_MOST_DIMENSIONS = 8
_ADAPTIVE = "adaptive"


@dataclass(frozen=True)
class GlobalLinks:
    """Links from group to group, numbered after the ``first`` links, which are inside groups.

    All groups are connected; the links of a pair count as one per direction.
    """

    first: int
    groups: int
    group_nodes: int  # nodes per group, equal to its number of links to other groups

    def __post_init__(self) -> None:
        """Raise MpiricError for more links than fit into memory."""
        links = self.first + self.groups**2
        if links > _MOST_LINKS:
            raise MpiricError(
                f"the network has too many links between switches: {links}; the limit is {_MOST_LINKS}",
                hint="describe a part of the network",
            )

    @property
    def speeds(self) -> Weights:
        """Return the relative speeds of all links: 1 inside groups, an equal share between groups."""
        lanes = max(1.0, self.group_nodes / max(self.groups - 1, 1))
        return np.concatenate((np.ones(self.first), np.full(self.groups * self.groups, lanes)))

    def between(self, groups: Numbers, target_groups: Numbers) -> Numbers:
        """Return the link of each pair of groups."""
        return self.first + groups * self.groups + target_groups

    def name(self, link: int) -> str:
        """Return the name of a link between groups."""
        group, target_group = divmod(link - self.first, self.groups)
        return f"group {group} to group {target_group}"


def with_group_links(network: RoutedNetwork, labels: Sequence[Sequence[str]]) -> RoutedNetwork:
    """Return the network with one link out of and into each group, as fast as all nodes of the group.

    ``labels`` name the groups of each level.
    """
    groups = network.groups
    counts = [int(group.max()) + 1 for group in groups]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    below = np.concatenate([np.zeros(0), *(np.bincount(group) for group in groups)]).astype(np.float64)

    def route(sources: Numbers, targets: Numbers) -> Routed:
        """Return the links out of and into every group below the first common one."""
        parts = []
        for level, group in enumerate(groups):
            apart = np.flatnonzero(group[sources] != group[targets])
            parts += [
                (apart, starts[level] + group[sources[apart]]),
                (apart, starts[-1] + starts[level] + group[targets[apart]]),
            ]
        return routed(*parts)

    def link_name(link: int) -> str:
        way, group = divmod(link, int(starts[-1]))
        level = int(np.searchsorted(starts, group, side="right")) - 1
        return f"{'into' if way else 'out of'} {labels[level][group - int(starts[level])]}"

    return replace(network, link_speeds=np.concatenate((below, below)), link_name=link_name, route=route)


def adaptive(network: RoutedNetwork) -> RoutedNetwork:
    """Return a described network whose switches choose the least loaded route."""
    labels = [
        [f"{network.levels[level]} {number}" for number in range(int(group.max()) + 1)]
        for level, group in enumerate(network.groups)
    ]
    return with_group_links(network, labels)


def _torus(counts: tuple[int, ...]) -> RoutedNetwork:
    """Build a torus, a grid with periodic boundaries; node numbers are row-major.

    Routing follows one dimension after the other in the shorter direction (upwards if both are equal).
    """
    if len(counts) > _MOST_DIMENSIONS:
        raise MpiricError(
            f"the torus has too many dimensions: {len(counts)}; the limit is {_MOST_DIMENSIONS}",
            hint="join dimensions, or leave out dimensions of size 1",
        )
    extents = np.array(counts)
    strides = np.concatenate((np.cumprod(extents[::-1])[::-1][1:], [1]))
    nodes = int(extents.prod())

    def steps(one: Numbers, other: Numbers, dimension: int) -> Numbers:
        """Return the number of steps, negative for steps down."""
        extent = extents[dimension]
        up = (other // strides[dimension] - one // strides[dimension]) % extent
        signed: Numbers = np.where(2 * up > extent, up - extent, up)
        return signed

    def distance(one: Numbers, other: Numbers) -> Weights:
        return sum(
            (np.abs(steps(one, other, d)).astype(np.float64) for d in range(len(counts))),
            start=np.zeros(len(one)),
        )

    def route(one: Numbers, other: Numbers) -> Routed:
        """Number links: 2 d leaves a node upwards in dimension d, 2 d + 1 downwards."""
        parts = []
        at = one.copy()
        for d in range(len(counts)):
            remaining = steps(at, other, d)
            for _ in range(int(np.abs(remaining).max(initial=0))):
                moving = np.flatnonzero(remaining)
                sign = np.sign(remaining[moving])
                parts.append((moving, at[moving] * 2 * len(counts) + 2 * d + (sign < 0)))
                place = at[moving] // strides[d] % extents[d]
                at[moving] += ((place + sign) % extents[d] - place) * strides[d]
                remaining[moving] -= sign
        return routed(*parts)

    def link_name(link: int) -> str:
        node, way = divmod(link, 2 * len(counts))
        place = ",".join(str(node // strides[d] % extents[d]) for d in range(len(counts)))
        return f"({place}) {'+-'[way % 2]}{'xyzuvw'[way // 2] if way < 12 else way // 2}"

    farthest = float(sum(extent // 2 for extent in counts))
    return RoutedNetwork(
        "torus",
        ("network",),
        (),
        (farthest,),
        np.ones(2 * len(counts) * nodes),
        link_name,
        route,
        distance=distance,
        extents=counts,
    )


def _fat_tree(counts: tuple[int, ...]) -> RoutedNetwork:
    """Build a full fat tree: nodes per leaf switch, leaves per pod, pods (two levels without pods).

    Each switch has as many uplinks as downlinks. Routing is d-mod-k (Zahavi 2010): the target's number
    selects the uplink, so that messages to one target share the links down.
    """
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
        "fat-tree", levels, groups, (2.0, 4.0, 6.0)[: len(levels)], np.ones(4 * up), link_name, route
    )


def _dragonfly(counts: tuple[int, ...]) -> RoutedNetwork:
    """Build a dragonfly (Kim, Dally, Scott, Abts 2008): nodes per router, routers per group, groups.

    Routers of a group and groups are fully connected. A router has as many global links as nodes (balanced);
    the global links between two groups count as one. Routing is minimal: local, global, local link.
    """
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
        "dragonfly",
        ("router", "group", "network"),
        (number // width, number // (width * routers)),
        (2.0, 3.0, 5.0),
        links.speeds,
        link_name,
        route,
    )


def _dragonfly_plus(counts: tuple[int, ...]) -> RoutedNetwork:
    """Build a dragonfly+ (Shpiner et al. 2017): nodes per leaf, leaves per group, groups.

    Groups have leaf switches and one spine switch per node of a leaf, and are connected by their spines. A
    group has as many outgoing links as nodes; the links between two groups count as one. Routing is minimal;
    the target selects the spine.
    """
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
        "dragonfly+",
        ("leaf", "group", "network"),
        (nodes // width, nodes // (width * leaves)),
        (2.0, 4.0, 5.0),
        links.speeds,
        link_name,
        route,
    )


_KINDS = {"dragonfly": _dragonfly, "dragonfly+": _dragonfly_plus, "fat-tree": _fat_tree, "torus": _torus}


def network_kinds() -> dict[str, Callable[[tuple[int, ...]], RoutedNetwork]]:
    """Return the kinds on the command line and the functions that build such networks."""
    return dict(_KINDS)


def parse_network(text: str) -> RoutedNetwork:
    """Parse ``torus:8x8x4``, ``fat-tree:18x16``, ``dragonfly:4x8x9`` or ``dragonfly+:16x16x5:adaptive``."""
    kind, _, numbers = text.partition(":")
    numbers, _, routing = numbers.partition(":")
    if kind not in _KINDS:
        raise MpiricError(f"unknown kind of network {kind!r}", hint=f"one of {', '.join(_KINDS)}")
    if routing not in ("", _ADAPTIVE) or (routing and kind == "torus"):
        raise MpiricError(
            f"{text!r}: {routing!r} is not a routing of a {kind}", hint="for example dragonfly:4x8x9:adaptive"
        )
    fields = numbers.split("x")
    if not all(re.fullmatch("[0-9]{1,7}", field) and int(field) > 0 for field in fields):
        raise MpiricError(f"{text!r} does not describe a network", hint="for example --network torus:8x8x4")
    counts = tuple(int(field) for field in fields)
    if math.prod(counts) > _MOST_NODES:
        raise MpiricError(
            f"{text} has too many nodes: {math.prod(counts)}; the limit is {_MOST_NODES}",
            hint="describe a part of the network",
        )
    network = _KINDS[kind](counts)
    return adaptive(network) if routing else network
