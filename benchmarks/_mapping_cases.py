"""Graphs and machines that orders of ranks are measured on: named, drawn at random, grids, recorded."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from mpiric.mapping.graph import graph_of, uniform_tree
from mpiric.mapping.patterns import grid_graph, lines_graph
from mpiric.mapping.read import read_graph
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import RankGraph, SlotTree
from mpiric.workflows.mapping.record import recorded_traffic

# 256 nodes that hold 4×4 of a periodic grid: 16 of 64 neighbours are on other nodes.
_HEAT = 256 * (16 * 10 + 48 * 1)
IMBALANCE = 0.03
PRESETS = ("fast", "eco", "strong")


@dataclass(frozen=True)
class MappingCase:
    name: str
    make: Callable[[], RankGraph]
    fan_outs: tuple[int, ...]
    distances: tuple[float, ...]
    presets: tuple[str, ...] = PRESETS
    optimum: float | None = None  # None if unknown
    threads: int = 1
    has_peers: bool = True

    @cached_property
    def graph(self) -> RankGraph:
        return self.make()

    @cached_property
    def tree(self) -> SlotTree:
        return uniform_tree(self.fan_outs, self.distances)

    @property
    def is_exact(self) -> bool:
        return self.graph.size == self.tree.slots


def random_geometric(ranks: int, degree: float, seed: int) -> RankGraph:
    """Return points of the unit square; the distance of neighbours gives the mean degree."""
    points = np.random.default_rng(seed).random((ranks, 2))
    radius = (degree / (np.pi * ranks)) ** 0.5
    across = int(1 / radius)
    cells = (points * across).astype(np.int64)
    key = cells[:, 0] * across + cells[:, 1]
    order = np.argsort(key, kind="stable")
    starts = np.searchsorted(key[order], np.arange(across * across + 1))
    edges = []
    for dx, dy in ((0, 0), (0, 1), (1, -1), (1, 0), (1, 1)):
        x, y = cells[:, 0] + dx, cells[:, 1] + dy
        near = np.flatnonzero((x < across) & (y >= 0) & (y < across))
        other = x[near] * across + y[near]
        counts = starts[other + 1] - starts[other]
        sources = np.repeat(near, counts)
        within = np.arange(len(sources)) - np.repeat(np.cumsum(counts) - counts, counts)
        targets = order[np.repeat(starts[other], counts) + within]
        is_near = ((points[sources] - points[targets]) ** 2).sum(axis=1) < radius**2
        is_new = (sources < targets) if (dx, dy) == (0, 0) else np.ones(len(sources), dtype=bool)
        edges.append((sources[is_near & is_new], targets[is_near & is_new]))
    sources, targets = (np.concatenate(ends) for ends in zip(*edges, strict=True))
    return graph_of(ranks, sources, targets, np.full(len(sources), 2.0))


def power_law(ranks: int, edges: int, seed: int) -> RankGraph:
    """Ends drawn with a probability that falls with the rank's number: a few talk to very many."""
    drawn = np.random.default_rng(seed).random((2, edges))
    ends = (ranks * drawn**2.5).astype(np.int64)
    return graph_of(ranks, ends[0], ends[1], np.full(edges, 2.0))


def shuffled(graph: RankGraph, seed: int) -> RankGraph:
    """Return the graph with randomly renumbered ranks."""
    names = np.random.default_rng(seed).permutation(graph.size)
    return graph_of(graph.size, names[graph.sources], names[graph.targets], graph.weights)


def cases(arguments: argparse.Namespace) -> list[MappingCase]:
    """Return the graphs of the command line or a random one, grids and, with --large, a million ranks."""
    process = ((4, 8, 8), (1, 10, 100))
    size = 4096 if arguments.quick else 32768
    presets = ("fast", "eco") if arguments.quick else PRESETS
    selection = [
        MappingCase(path.stem, partial(read_graph, path), *process, presets) for path in arguments.graph
    ]
    if not selection:
        make = partial(random_geometric, size, 9.8, 1)
        selection = [MappingCase("random geometric", make, *process, presets)]

    def grid(extents: tuple[int, ...], stencil: str) -> Callable[[], RankGraph]:
        return partial(grid_graph, extents, stencil, periodic=True)

    def mixed(make: Callable[[], RankGraph]) -> Callable[[], RankGraph]:
        return lambda: shuffled(make(), 1)

    cube: Any = ((16, 2, 4, 32), (1, 2, 5, 20), presets)
    selection += [
        MappingCase("12×12×24, nodes of 12", grid((12, 12, 24), "7"), (12, 288), (0, 1), presets, 288 * 32),
        MappingCase("FFT pencils 16×16", partial(lines_graph, (16, 16), (0, 1)), (16, 16), (1, 10), presets),
        MappingCase("heat 64×64, shuffled", mixed(grid((64, 64), "5")), (16, 256), (1, 10), cube[2], _HEAT),
        MappingCase("16×16×16", grid((16, 16, 16), "7"), *cube),
        MappingCase("16×16×16, shuffled", mixed(grid((16, 16, 16), "7")), *cube),
        MappingCase("16×16×16 of 27 points", grid((16, 16, 16), "27"), *cube),
        MappingCase("16×16×16 of 27 points, shuffled", mixed(grid((16, 16, 16), "27")), *cube),
    ]
    selection += [_recorded(path) for path in arguments.record]
    if arguments.large:
        machine: Any = ((64, 16, 32, 32), (1, 5, 10, 20), ("fast",), None, 2, False)
        halo = partial(grid_graph, (128, 128, 64), "7", periodic=False)
        selection += [
            MappingCase("2^20, halo", halo, *machine),
            MappingCase("2^20, halo, shuffled", mixed(halo), *machine),
            MappingCase("2^20, random geometric", partial(random_geometric, 2**20, 12, 1), *machine),
            MappingCase("2^20, power law", partial(power_law, 2**20, 2**23, 1), *machine),
        ]
    return [
        case for case in selection if not arguments.only or any(word in case.name for word in arguments.only)
    ]


def _recorded(path: Path) -> MappingCase:
    """Return the traffic of a recorded run with its ranks in random order."""
    graph = shuffled(recorded_traffic(path).graph, 1)
    nodes, remainder = divmod(graph.size, 4)
    if remainder or nodes < 2:
        raise MpiricError(f"{path} has {graph.size} ranks", hint="record 8, 12, 16 or more ranks")
    return MappingCase(f"{path.name}, shuffled", lambda: graph, (4, nodes), (1, 10))
