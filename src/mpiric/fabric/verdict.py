"""Routes measured → which is faster, for which message size, by how much.

Every comparison is of the fastest batches: what a transport can do shows there, while medians on a busy node
show the scheduler. A route counts as better overall by the geometric mean over message sizes, as no size is
known to matter more. Times that the scheduler has made (`host.facts.time_slices`) are never compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean

from mpiric.host.facts.time_slices import Timed, disturbances, tick_s
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import PairClass, Probe, Route, Winner

_NOTICEABLE = 1.05  # below that the library's own route is named the fastest


def times_us(probes: Iterable[Probe], pair_class: PairClass) -> Mapping[int, float]:
    """Message size → fastest one way over all runs, of times that can be compared."""
    best: dict[int, float] = {}
    for probe in probes:
        left_out = disturbed(probe, pair_class)
        for point in probe.points.get(pair_class, ()):
            if point.size_bytes not in left_out:
                known = best.get(point.size_bytes, point.latency_us_min)
                best[point.size_bytes] = min(known, point.latency_us_min)
    return best


def all_times_us(probes: Iterable[Probe], pair_class: PairClass) -> Mapping[int, float]:
    """Return all times for display, with those that cannot be compared."""
    best: dict[int, float] = {}
    for point in (point for probe in probes for point in probe.points.get(pair_class, ())):
        best[point.size_bytes] = min(best.get(point.size_bytes, point.latency_us_min), point.latency_us_min)
    return best


def disturbed(probe: Probe, pair_class: PairClass) -> dict[int, str]:
    """Message size → why its time in one run cannot be compared."""
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
    """Geometric mean of the times of one run over its message sizes."""
    times = times_us([probe], pair_class) or all_times_us([probe], pair_class)
    return geometric_mean(times.values())


def gain(default: Mapping[int, float], other: Mapping[int, float]) -> float:
    """Speedup of a run over another, geometric mean over the sizes that both have; 1 when there are none."""
    ratios = [default[size] / other[size] for size in default if size in other]
    return geometric_mean(ratios) if ratios else 1.0


def gain_of(default: Sequence[Probe], other: Sequence[Probe], classes: Iterable[PairClass]) -> float:
    """Speedup over several classes of pairs, each counting once."""
    gains = [gain(times_us(default, c), times_us(other, c)) for c in classes]
    return geometric_mean(gains) if gains else 1.0


def best_route(routes: Sequence[Route], classes: Sequence[PairClass], at_least: float) -> Route | None:
    """The route with the largest gain over the library's own; None when none gains ``at_least``.

    Of routes within two percent of the best, the one that sets fewest knobs.
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
    """The fastest route for each message size, smallest size first."""
    default = next(route for route in routes if route.is_default)
    own = times_us(default.probes, pair_class)
    found = []
    for size, time_us in sorted(own.items()):
        best, configuration = time_us, Configuration()
        for route in routes:
            other = times_us(route.probes, pair_class).get(size)
            if other is not None and other < best and time_us / other > _NOTICEABLE:
                best, configuration = other, route.configuration
        found.append(Winner(size, configuration, best, time_us / best))
    return tuple(found)
