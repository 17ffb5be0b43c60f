"""CoreSet: some cores of one node, and the domains they lie in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from mpiric.model.machine import Core, Topology

Cores = tuple[Core, ...]


class Level(str, Enum):
    """Domains of a node from the widest to the narrowest."""

    SOCKET = "socket"
    NUMA = "numa"
    CACHE = "cache"  # the outermost cache that several cores share


@dataclass(frozen=True)
class CoreSet:
    """Cores in hwloc's order; only those that may be used."""

    topology: Topology
    cores: Cores

    def domains(self, level: Level) -> tuple["CoreSet", ...]:
        """The cores by domain, domains in the order of their first core."""
        key = _keys(self.topology)[level]
        found: dict[int, list[Core]] = {}
        for core in self.cores:
            found.setdefault(key(core), []).append(core)
        return tuple(replace(self, cores=tuple(cores)) for cores in found.values())

    def only(self, cores: Iterable[Core]) -> "CoreSet":
        """The set restricted to some of its cores."""
        kept = set(cores)
        return replace(self, cores=tuple(core for core in self.cores if core in kept))

    def packed(self, count: int, width: int) -> tuple[Cores, ...]:
        """The cores of ``count`` ranks of ``width`` adjacent cores each, from the first core on."""
        return tuple(self.cores[rank * width : (rank + 1) * width] for rank in range(count))


def _keys(topology: Topology) -> dict[Level, Callable[[Core], int]]:
    shared = _shared_cache(topology)
    return {
        Level.SOCKET: lambda core: core.package,
        Level.NUMA: lambda core: core.numa_node,
        Level.CACHE: lambda core: shared.get(core.index, -1 - core.index),
    }


def _shared_cache(topology: Topology) -> dict[int, int]:
    """Core index → number of the outermost data cache that it shares with another core."""
    caches = sorted((c for c in topology.caches if c.kind != "instruction"), key=lambda cache: cache.level)
    found: dict[int, int] = {}
    for number, cache in enumerate(caches):
        inside = [core.index for core in topology.cores if core.pus[0] in cache.pus]
        if len(inside) > 1:
            found.update((index, number) for index in inside)
    return found
