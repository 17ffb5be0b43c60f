"""Times of measured routes → the fastest route for each message size, and its speedup.

The fastest batches are compared, because they show the capability of a transport, while medians on a busy
node show the scheduler. The overall speedup is the geometric mean over message sizes, as no size is known to
matter more. Times that the scheduler determined (`host.facts.time_slices`) are never compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean

from mpiric.host.facts.time_slices import Timed, disturbances, tick_s
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import PairClass, Probe, Route, Winner

_NOTICEABLE = 1.05  # speedup below which the library's default counts as the fastest


def times_us(probes: Iterable[Probe], pair_class: PairClass) -> Mapping[int, float]:
    """Map each message size to its fastest one-way time over all runs, comparable times only."""
    best: dict[int, float] = {}
    for probe in probes:
        excluded = disturbed(probe, pair_class)
        for point in probe.points.get(pair_class, ()):
            if point.size_bytes not in excluded:
                previous = best.get(point.size_bytes, point.latency_us_min)
                best[point.size_bytes] = min(previous, point.latency_us_min)
    return best


def all_times_us(probes: Iterable[Probe], pair_class: PairClass) -> Mapping[int, float]:
    """Map each message size to its fastest time, including times that cannot be compared, for display."""
    best: dict[int, float] = {}
    for point in (point for probe in probes for point in probe.points.get(pair_class, ())):
        best[point.size_bytes] = min(best.get(point.size_bytes, point.latency_us_min), point.latency_us_min)
    return best


def disturbed(probe: Probe, pair_class: PairClass) -> dict[int, str]:
    """Map message sizes to the reason why their time in one run cannot be compared."""
    series = {
        point.size_bytes: Timed(
            point.latency_us_min * 1e-6,
            (point.latency_us - point.latency_us_min) * 1e-6,
            preempted=point.preempted >= 1,
        )
        for point in probe.points.get(pair_class, ())
    }
    return disturbances(series, tick_s())


def typical_us(probe: Probe, pair_class: PairClass) -> float:
    """Return the geometric mean of the times of one run over its message sizes."""
    times = times_us([probe], pair_class) or all_times_us([probe], pair_class)
    return geometric_mean(times.values())


def gain(default: Mapping[int, float], other: Mapping[int, float]) -> float:
    """Return the geometric mean of the speedup over all sizes that both runs have; 1 if there are none."""
    ratios = [default[size] / other[size] for size in default if size in other]
    return geometric_mean(ratios) if ratios else 1.0


def gain_of(default: Sequence[Probe], other: Sequence[Probe], classes: Iterable[PairClass]) -> float:
    """Return the speedup over several classes of pairs, with equal weights."""
    gains = [gain(times_us(default, c), times_us(other, c)) for c in classes]
    return geometric_mean(gains) if gains else 1.0


def best_route(routes: Sequence[Route], classes: Sequence[PairClass], at_least: float) -> Route | None:
    """Return the route with the largest gain over the default; None if none gains ``at_least``.

    Among routes within two percent of the best one, the route that sets the fewest knobs is chosen.
    """
    default = next(route for route in routes if route.is_default)
    gains = {
        route.configuration: gain_of(default.probes, route.probes, classes)
        for route in routes
        if route.probes and not route.is_default
    }
    top = max(gains.values(), default=1.0)
    if top < at_least:
        return None
    close = [route for route in routes if gains.get(route.configuration, 0.0) > top / 1.02]
    return min(close, key=lambda route: (len(route.configuration.items), -gains[route.configuration]))


def winners(routes: Sequence[Route], pair_class: PairClass) -> tuple[Winner, ...]:
    """Return the fastest route for each message size, smallest size first."""
    default = next(route for route in routes if route.is_default)
    default_times = times_us(default.probes, pair_class)
    winners_by_size = []
    for size, time_us in sorted(default_times.items()):
        best, configuration = time_us, Configuration()
        for route in routes:
            route_us = times_us(route.probes, pair_class).get(size)
            if route_us is not None and route_us < best and time_us / route_us > _NOTICEABLE:
                best, configuration = route_us, route.configuration
        winners_by_size.append(Winner(size, configuration, best, time_us / best))
    return tuple(winners_by_size)
