"""Cores of one node, and the domains that contain them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from mpiric.model.machine import Core, Topology

Cores = tuple[Core, ...]


class Level(str, Enum):
    """Kinds of domains of a node, from the widest to the narrowest."""

    SOCKET = "socket"
    NUMA = "numa"
    CACHE = "cache"  # outermost cache that several cores share


@dataclass(frozen=True)
class CoreSet:
    """Usable cores in hwloc's order."""

    topology: Topology
    cores: Cores

    def domains(self, level: Level) -> tuple["CoreSet", ...]:
        """Split the cores by domain; domains in the order of their first core."""
        key = _keys(self.topology)[level]
        by_domain: dict[int, list[Core]] = {}
        for core in self.cores:
            by_domain.setdefault(key(core), []).append(core)
        return tuple(replace(self, cores=tuple(cores)) for cores in by_domain.values())

    def only(self, cores: Iterable[Core]) -> "CoreSet":
        """Return the subset that contains only these cores."""
        allowed = set(cores)
        return replace(self, cores=tuple(core for core in self.cores if core in allowed))

    def packed(self, count: int, width: int) -> tuple[Cores, ...]:
        """Return the cores of ``count`` ranks, each with ``width`` adjacent cores, from the first core on."""
        return tuple(self.cores[rank * width : (rank + 1) * width] for rank in range(count))


def _keys(topology: Topology) -> dict[Level, Callable[[Core], int]]:
    shared = _shared_cache(topology)
    return {
        Level.SOCKET: lambda core: core.package,
        Level.NUMA: lambda core: core.numa_node,
        Level.CACHE: lambda core: shared.get(core.index, -1 - core.index),
    }


def _shared_cache(topology: Topology) -> dict[int, int]:
    """Return the number of the outermost data cache that a core shares with another core, by core index."""
    caches = sorted((c for c in topology.caches if c.kind != "instruction"), key=lambda cache: cache.level)
    cache_of_core: dict[int, int] = {}
    for number, cache in enumerate(caches):
        inside = [core.index for core in topology.cores if core.pus[0] in cache.pus]
        if len(inside) > 1:
            cache_of_core.update((index, number) for index in inside)
    return cache_of_core
