"""Spread: ranks evenly over sockets, NUMA nodes and shared caches, as far apart as the node allows.

Each rank stays inside the narrowest domain that holds all its threads. Gives every rank the largest share
of caches and memory channels; on a full node it is the same as compact.
"""

from mpiric.model.core_set import Cores, CoreSet, Level
from mpiric.placement.arrangement import shares, spaced
from mpiric.placement.policies._policy import PlacementPolicy


def seat_apart(
    available: CoreSet, count: int, width: int, levels: tuple[Level, ...] = tuple(Level)
) -> tuple[Cores, ...]:
    """Split by the first level, then each part by the next; below the last one even spacing."""
    if not levels:
        return spaced(available, count, width)
    domains = available.domains(levels[0])
    given = shares(count, domains, width)
    if given is None:  # a rank is wider than the domain
        return spaced(available, count, width)
    return tuple(
        seat
        for domain, number in zip(domains, given, strict=True)
        if number
        for seat in seat_apart(domain, number, width, levels[1:])
    )


POLICY = PlacementPolicy(
    "ranks evenly over sockets, NUMA nodes and caches, as far apart as the node allows",
    lambda available, wanted: seat_apart(available, wanted.count, wanted.width),
)
