"""Arrangements of ranks on a set of cores: proportional to domains, evenly spaced, or domain by domain."""

from collections.abc import Callable

from mpiric.model.machine import Cores, CoreSet, Level


def shares(count: int, domains: tuple[CoreSet, ...], width: int) -> tuple[int, ...] | None:
    """Return the number of ranks per domain, in proportion to its cores; None if ranks do not fit.

    ``width`` is the number of cores of a rank. Each rank goes to the domain that is least full after it, so a
    NUMA node with half the cores gets half as many ranks. Ties go to domains at even distances, so two ranks
    on four caches use the first and the third.
    """
    counts = [0] * len(domains)
    last_round = count % len(domains)
    even = {number * len(domains) // last_round for number in range(last_round)}
    for _ in range(count):
        candidates = [i for i, domain in enumerate(domains) if (counts[i] + 1) * width <= len(domain.cores)]
        if not candidates:
            return None
        chosen = min(candidates, key=lambda i: ((counts[i] + 1) / len(domains[i].cores), i not in even, i))
        counts[chosen] += 1
    return tuple(counts)


def spaced(available: CoreSet, count: int, width: int) -> tuple[Cores, ...]:
    """Return ranks at even distances; the threads of a rank are as far apart as its share of cores allows."""
    size = len(available.cores)
    stride = max(1, size // count // width)
    starts = [rank * size // count for rank in range(count)]
    return tuple(tuple(available.cores[start + i * stride] for i in range(width)) for start in starts)


Arrange = Callable[[CoreSet, int, int], tuple[Cores, ...]]


def by_domain(
    available: CoreSet, level: Level, count: int, width: int, inside: Arrange
) -> tuple[Cores, ...] | None:
    """Place equal numbers of ranks in each domain of a level; None if ranks do not fit into one domain.

    ``inside`` arranges the ranks within a domain.
    """
    domains = available.domains(level)
    counts = shares(count, domains, width)
    if counts is None:
        return None
    return tuple(
        seat
        for domain, number in zip(domains, counts, strict=True)
        if number
        for seat in inside(domain, number, width)
    )
