"""The cores a policy may use on one node, and the domains they lie in."""

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
class Grounds:
    """Cores in hwloc's order; only those that may be used."""

    topology: Topology
    cores: Cores

    def domains(self, level: Level) -> tuple["Grounds", ...]:
        """The same cores by domain, domains in the order of their first core."""
        key = _keys(self.topology)[level]
        found: dict[int, list[Core]] = {}
        for core in self.cores:
            found.setdefault(key(core), []).append(core)
        return tuple(replace(self, cores=tuple(cores)) for cores in found.values())

    def only(self, cores: Iterable[Core]) -> "Grounds":
        """Restricted to some of the cores."""
        kept = set(cores)
        return replace(self, cores=tuple(core for core in self.cores if core in kept))


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


def shares(count: int, domains: tuple[Grounds, ...], width: int) -> tuple[int, ...] | None:
    """How many ranks of ``width`` cores each domain gets, in proportion to its cores; None: no room.

    Each rank goes where the domain is least full after it: a NUMA node with half the cores gets half as
    many. Of equals those are first that lie at even distances, so that two ranks on four caches take the
    first and the third.
    """
    given = [0] * len(domains)
    last_round = count % len(domains)
    even = {number * len(domains) // last_round for number in range(last_round)}
    for _ in range(count):
        open_ = [i for i, domain in enumerate(domains) if (given[i] + 1) * width <= len(domain.cores)]
        if not open_:
            return None
        chosen = min(open_, key=lambda i: ((given[i] + 1) / len(domains[i].cores), i not in even, i))
        given[chosen] += 1
    return tuple(given)


def packed(grounds: Grounds, count: int, width: int) -> tuple[Cores, ...]:
    """One rank after the other on adjacent cores."""
    return tuple(grounds.cores[rank * width : (rank + 1) * width] for rank in range(count))


def spaced(grounds: Grounds, count: int, width: int) -> tuple[Cores, ...]:
    """Ranks at even distances, and the threads of each as far apart as its share of the cores allows."""
    size = len(grounds.cores)
    stride = max(1, size // count // width)
    starts = [rank * size // count for rank in range(count)]
    return tuple(tuple(grounds.cores[start + i * stride] for i in range(width)) for start in starts)


Arrange = Callable[[Grounds, int, int], tuple[Cores, ...]]


def by_domain(
    grounds: Grounds, level: Level, count: int, width: int, inside: Arrange
) -> tuple[Cores, ...] | None:
    """Equal numbers in every domain of a level, arranged ``inside``; None when ranks would not fit in one."""
    domains = grounds.domains(level)
    given = shares(count, domains, width)
    if given is None:
        return None
    return tuple(
        seat
        for domain, number in zip(domains, given, strict=True)
        if number
        for seat in inside(domain, number, width)
    )
