"""Arrangements of ranks on a set of cores: in proportion to domains, at even distances, domain by domain."""

from collections.abc import Callable

from mpiric.model.core_set import Cores, CoreSet, Level


def shares(count: int, domains: tuple[CoreSet, ...], width: int) -> tuple[int, ...] | None:
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


def spaced(available: CoreSet, count: int, width: int) -> tuple[Cores, ...]:
    """Ranks at even distances, and the threads of each as far apart as its share of the cores allows."""
    size = len(available.cores)
    stride = max(1, size // count // width)
    starts = [rank * size // count for rank in range(count)]
    return tuple(tuple(available.cores[start + i * stride] for i in range(width)) for start in starts)


Arrange = Callable[[CoreSet, int, int], tuple[Cores, ...]]


def by_domain(
    available: CoreSet, level: Level, count: int, width: int, inside: Arrange
) -> tuple[Cores, ...] | None:
    """Equal numbers in every domain of a level, arranged ``inside``; None when ranks would not fit in one."""
    domains = available.domains(level)
    given = shares(count, domains, width)
    if given is None:
        return None
    return tuple(
        seat
        for domain, number in zip(domains, given, strict=True)
        if number
        for seat in inside(domain, number, width)
    )
