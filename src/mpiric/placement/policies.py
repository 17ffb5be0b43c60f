"""Placement policies: a description and a pure function each, and the arrangements of ranks that they share.

Ranks are placed on a set of cores in proportion to its domains, evenly spaced, or domain by domain.
"""

from collections.abc import Callable

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.machine import Cores, CoreSet, Level
from mpiric.model.placement import Gpu, Saturation


@dataclass(frozen=True)
class PlacementDemand:
    """Request to a policy: ``count`` ranks of ``width`` cores each, which fit on the available cores."""

    count: int
    width: int
    saturation: Saturation | None = None
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True)
class PlacementPolicy:
    """A placement policy. ``seat`` returns the cores of each rank in rank order, None if it cannot.

    ``shares_out`` is True if all cores are divided among the ranks when the number of threads is not set.
    """

    sentence: str
    seat: Callable[[CoreSet, PlacementDemand], tuple[Cores, ...] | None]
    shares_out: bool = False


def _shares(count: int, domains: tuple[CoreSet, ...], width: int) -> tuple[int, ...] | None:
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


def _spaced(available: CoreSet, count: int, width: int) -> tuple[Cores, ...]:
    """Return ranks at even distances; the threads of a rank are as far apart as its share of cores allows."""
    size = len(available.cores)
    stride = max(1, size // count // width)
    starts = [rank * size // count for rank in range(count)]
    return tuple(tuple(available.cores[start + i * stride] for i in range(width)) for start in starts)


def _by_domain(available: CoreSet, level: Level, demand: PlacementDemand) -> tuple[Cores, ...] | None:
    """Place equal numbers of ranks in each domain of a level, side by side; None if they do not fit."""
    domains = available.domains(level)
    counts = _shares(demand.count, domains, demand.width)
    if counts is None:
        return None
    return tuple(
        seat
        for domain, number in zip(domains, counts, strict=True)
        if number
        for seat in domain.packed(number, demand.width)
    )


def _seat_apart(
    available: CoreSet, count: int, width: int, levels: tuple[Level, ...] = tuple(Level)
) -> tuple[Cores, ...]:
    """Divide the ranks over the domains of the first level, then within each domain by the next level.

    Below the last level, ranks are evenly spaced.
    """
    if not levels:
        return _spaced(available, count, width)
    domains = available.domains(levels[0])
    counts = _shares(count, domains, width)
    if counts is None:  # a rank is wider than a domain
        return _spaced(available, count, width)
    return tuple(
        seat
        for domain, number in zip(domains, counts, strict=True)
        if number
        for seat in _seat_apart(domain, number, width, levels[1:])
    )


def saturating(available: CoreSet, saturation: Saturation | None) -> CoreSet:
    """Return the cores of each NUMA node that reach its full bandwidth."""
    chosen: list[Cores] = []
    for domain in available.domains(Level.NUMA):
        number, spacing = (saturation.cores, saturation.spacing) if saturation else (len(domain.cores), 2)
        chosen.append(domain.cores[::spacing][:number])
    return available.only(core for cores in chosen for core in cores)


def _few_per_numa(available: CoreSet, demand: PlacementDemand) -> tuple[Cores, ...]:
    few = saturating(available, demand.saturation)
    fits = demand.count * demand.width <= len(few.cores)
    return _seat_apart(few if fits else available, demand.count, demand.width)


def _side_by_side(available: CoreSet, demand: PlacementDemand) -> tuple[Cores, ...]:
    seats: list[Cores] = []
    for domain in available.domains(Level.NUMA):
        number = min(len(domain.cores) // demand.width, demand.count - len(seats))
        seats += domain.packed(number, demand.width)
    return tuple(seats) if len(seats) == demand.count else available.packed(demand.count, demand.width)


def gpu_of(local_rank: int, count: int, gpus: int) -> int:
    """Return the number of the GPU that a rank of the node uses; neighbouring ranks share one."""
    return local_rank * gpus // count if count > gpus else local_rank


def _near_gpus(available: CoreSet, demand: PlacementDemand) -> tuple[Cores, ...] | None:
    """Place the ranks of GPUs at the same location together, spread over the cores next to these GPUs."""
    by_pus: dict[tuple[int, ...], list[int]] = {}
    for rank in range(demand.count):
        gpu = demand.gpus[gpu_of(rank, demand.count, len(demand.gpus))] if demand.gpus else None
        by_pus.setdefault(gpu.pus if gpu else (), []).append(rank)
    seats: dict[int, Cores] = {}
    for pus, ranks in by_pus.items():
        near = available.only(core for core in available.cores if set(core.pus) & set(pus))
        if len(near.cores) < len(ranks) * demand.width:
            return None
        seats.update(zip(ranks, _seat_apart(near, len(ranks), demand.width), strict=True))
    return tuple(seats[rank] for rank in sorted(seats))


def _equal_parts(available: CoreSet, demand: PlacementDemand) -> tuple[Cores, ...]:
    for level in (Level.CACHE, Level.NUMA, Level.SOCKET):
        seats = _by_domain(available, level, demand)
        if seats is not None:
            return seats
    return available.packed(demand.count, demand.width)


_POLICIES = {
    # Further cores do not add bandwidth. On Betzy (2 × EPYC 7742), every second core, 8 of 16, reaches more
    # bandwidth than all 16 (STREAM, see tests/data/bandwidth). Without a measurement
    # (`mpiric place --measure`) the number of cores is a rule of thumb.
    "bandwidth": PlacementPolicy(
        "only as many cores of each NUMA node as are needed to reach its full memory bandwidth", _few_per_numa
    ),
    # For programs that communicate much and are not limited by memory bandwidth: neighbours share caches.
    "compact": PlacementPolicy("ranks side by side on the first cores", _side_by_side),
    # Copies between host and device cross no link between sockets. Ranks that share a GPU are neighbours.
    "near-gpu": PlacementPolicy("ranks on the cores nearest to the GPU they use", _near_gpus),
    # Each rank has the same share of a cache, and its threads communicate through it.
    "per-cache": PlacementPolicy(
        "equal numbers of ranks on each shared cache, side by side within it",
        lambda available, demand: _by_domain(available, Level.CACHE, demand),
    ),
    # Ranks that share memory stay together, and the memory of every NUMA node is used.
    "per-numa": PlacementPolicy(
        "equal numbers of ranks on each NUMA node, side by side within it",
        lambda available, demand: _by_domain(available, Level.NUMA, demand),
    ),
    # The memory channels and links of every socket are used, and neighbours share a socket.
    "per-socket": PlacementPolicy(
        "equal numbers of ranks on each socket, side by side within it",
        lambda available, demand: _by_domain(available, Level.SOCKET, demand),
    ),
    # Each rank stays within the smallest domain that holds all its threads, and gets the largest possible
    # share of caches and memory channels. On a full node the result equals compact.
    "spread": PlacementPolicy(
        "ranks evenly over sockets, NUMA nodes and caches, as far apart as the node allows",
        lambda available, demand: _seat_apart(available, demand.count, demand.width),
    ),
    # For hybrid programs: 8 ranks on a node of 128 cores get 16 threads each. If the number of threads is not
    # set, it follows from the number of ranks.
    "whole-node": PlacementPolicy(
        "all cores divided in equal parts among the ranks of a node", _equal_parts, shares_out=True
    ),
}


def policies() -> dict[str, PlacementPolicy]:
    """Return the policies by name, in alphabetical order."""
    return dict(_POLICIES)


def policy_named(name: str) -> PlacementPolicy:
    """Return the policy with this name. Raises MpiricError if there is none."""
    if name not in _POLICIES:
        raise MpiricError(f"unknown placement policy {name!r}", hint=f"use one of {', '.join(_POLICIES)}")
    return _POLICIES[name]
