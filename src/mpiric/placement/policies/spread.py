"""Spread: ranks evenly over sockets, NUMA nodes and shared caches, as far apart as the node allows.

Each rank stays within the smallest domain that holds all its threads. Every rank gets the largest possible
share of caches and memory channels. On a full node the result equals compact.
"""

from mpiric.model.machine import Cores, CoreSet, Level
from mpiric.placement.arrangement import shares, spaced
from mpiric.placement.policies._policy import PlacementPolicy


def seat_apart(
    available: CoreSet, count: int, width: int, levels: tuple[Level, ...] = tuple(Level)
) -> tuple[Cores, ...]:
    """Divide the ranks over the domains of the first level, then within each domain by the next level.

    Below the last level, ranks are evenly spaced.
    """
    if not levels:
        return spaced(available, count, width)
    domains = available.domains(levels[0])
    counts = shares(count, domains, width)
    if counts is None:  # a rank is wider than a domain
        return spaced(available, count, width)
    return tuple(
        seat
        for domain, number in zip(domains, counts, strict=True)
        if number
        for seat in seat_apart(domain, number, width, levels[1:])
    )


POLICY = PlacementPolicy(
    "ranks evenly over sockets, NUMA nodes and caches, as far apart as the node allows",
    lambda available, demand: seat_apart(available, demand.count, demand.width),
)
