"""Cost of a sweep: first estimated for a fast and a slow network, then from times of the library."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import ceil, inf, log2

from mpiric.model.policy import LIBRARY
from mpiric.statistics.sampling import Subject, SweepPoint, Times, next_points, time_between
from mpiric.workflows.sweep.plan import NONBLOCKING, SweepPlan, in_blocks

# Calls that the probe makes for a point (`src/probes/probe_collectives.cpp`).
_USUAL_BATCHES, _LEAST_BATCHES, _MOST_CALLS = 11, 3, 2000
_FIRST_CALLS, _FIRST_CALLS_OF_OWN = 2, 16
_OTHER_CALLS = 3  # one to check the result, two to estimate the time of a call
_MEETINGS = 2  # short collectives of each batch
_START_S = 2.0  # time to start a launch
_PATIENCE = 10.0


# Description of a network, its latency in seconds, and its bandwidth in bytes per second.
FAST = ("2 µs and 10 GB/s", 2e-6, 10e9)
SLOW = ("1 ms and 100 Mbit/s", 1e-3, 12.5e6)


def guessed_s(plan: SweepPlan, latency_s: float, bytes_per_s: float) -> float:
    """Return the seconds that the full grid takes on a network."""

    def call_s(subject: Subject, size: int) -> float:
        """Return the time of a step per doubling of the ranks, plus the time to move all bytes of a rank."""
        ranks = subject.shape.ranks
        moved = size * (ranks if in_blocks(subject.collective) else 1)
        return latency_s * ceil(log2(ranks)) + moved / bytes_per_s

    points_s = (_point_s(plan, p, call_s(p.subject, p.size), call_s(p.subject, 0)) for p in _grid(plan))
    return sum(points_s) + _launches(plan) * _START_S


class Costs:
    """Expected time of points, from measured times of the library."""

    def __init__(self, plan: SweepPlan, measured: Times) -> None:
        self._plan = plan
        self._library_times: dict[Subject, list[tuple[int, float]]] = defaultdict(list)
        for point, times in sorted(measured.items()):
            if point.candidate == LIBRARY:
                self._library_times[point.subject].append((point.size, times.median_s))

    @property
    def are_known(self) -> bool:
        """Return whether each collective was measured at its smallest and its largest size."""
        grids = self._plan.sizes
        return all(
            {grid[0], grid[-1]} <= {at for at, _ in self._library_times[of]} for of, grid in grids.items()
        )

    def point_s(self, point: SweepPoint) -> float | None:
        """Return the seconds to measure a point if it is as fast as the library; None if that is unknown."""
        measured = self._library_times.get(point.subject)
        if not measured:
            return None
        shortest_s = min(time_s for _, time_s in measured)
        return _point_s(self._plan, point, _interpolate(measured, point.size), shortest_s)

    def sum_s(self, points: Iterable[SweepPoint]) -> float:
        """Return the seconds of several points, without points of unknown time."""
        return sum(self.point_s(point) or 0.0 for point in points)

    def patience_s(self, points: Sequence[SweepPoint]) -> float:
        """Return the time limit of a launch, well above the time that the library needs for the points."""
        request = self._plan.request
        are_measured = all(point.subject in self._library_times for point in points)
        if request.limit_s is not None or not are_measured:
            return request.patience_s(len(points))
        return request.patience_s(0) + _PATIENCE * self.sum_s(points)

    def first_pass_s(self, measured: Times) -> float:
        """Return the seconds of the measurements that remain in any case."""
        plan = self._plan
        points = next_points(plan.sizes, plan.candidates, measured, plan.stride)
        return self.sum_s(points) + _START_S * _pass_launches(plan)

    def grid_s(self, measured: Times) -> float:
        """Return the seconds of the rest of the full grid."""
        remaining = (point for point in _grid(self._plan) if point not in measured)
        return self.sum_s(remaining) + _START_S * _launches(self._plan)


def cost_by_guess(plan: SweepPlan) -> str:
    """Return the message on the cost before the first measurement."""
    ranks = len(plan.nodes)
    low, high = guessed_s(plan, *FAST[1:]), guessed_s(plan, *SLOW[1:])
    return (
        f"at most {plan.points} points on {ranks} ranks: {_core_hours(low, ranks)} core-hours "
        f"({_time(low)}) on a network of {FAST[0]}, {_core_hours(high, ranks)} "
        f"({_time(high)}) on a network of {SLOW[0]}{_ended(plan, high)}"
    )


def cost_by_own_times(plan: SweepPlan, costs: Costs, measured: Times) -> str:
    """Return the message on the cost when times of the library are known."""
    ranks = len(plan.nodes)
    grid_s = costs.grid_s(measured)
    first_s = min(costs.first_pass_s(measured), grid_s)
    return (
        f"estimate from times of the library: {_core_hours(first_s, ranks)} core-hours ({_time(first_s)}) "
        f"for the first pass, {_core_hours(grid_s, ranks)} ({_time(grid_s)}) for the whole grid, and more "
        "where other algorithms are slower; gains are then measured twice more"
        f"{_ended(plan, grid_s)}"
    )


def _ended(plan: SweepPlan, seconds: float) -> str:
    """Return a phrase on the end by the budget, "" if the budget suffices."""
    budget_s = plan.request.budget_s
    if budget_s is None or budget_s >= seconds:
        return ""
    return f"; --budget ends the sweep after {_time(budget_s)}"


def _core_hours(seconds: float, ranks: int) -> str:
    return f"{seconds * ranks / 3600:.2g}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _grid(plan: SweepPlan) -> Iterable[SweepPoint]:
    for subject, sizes in plan.sizes.items():
        for name in plan.candidates[subject]:
            for size in sizes:
                yield SweepPoint(subject, size, name)


def _launches(plan: SweepPlan) -> int:
    """Return the number of launches of the full grid: intermediate sizes come in rounds of halving."""
    return _pass_launches(plan) * max((len(sizes).bit_length() for sizes in plan.sizes.values()), default=1)


def _pass_launches(plan: SweepPlan) -> int:
    """Return the launches of a pass, each with one candidate of every blocking or nonblocking collective."""
    counts = {False: 0, True: 0}
    for subject, names in plan.candidates.items():
        form = subject.collective in NONBLOCKING
        counts[form] = max(counts[form], 1 + len(names))
    return sum(counts.values())


def _point_s(plan: SweepPlan, point: SweepPoint, call_s: float, short_s: float) -> float:
    """Return the seconds to measure a point; ``short_s`` is the time of a call that moves almost no data."""
    seconds = plan.request.seconds
    batches = _LEAST_BATCHES if call_s > seconds else _USUAL_BATCHES
    in_batch = min(max(int(seconds / batches / max(call_s, 1e-9)), 1), _MOST_CALLS)
    first = _FIRST_CALLS_OF_OWN if point.candidate.startswith("own:") else _FIRST_CALLS
    meetings = _MEETINGS * (batches + 2)
    return call_s * (first + _OTHER_CALLS + batches * in_batch) + meetings * short_s


def _interpolate(times: list[tuple[int, float]], size: int) -> float:
    """Interpolate between the neighbours on logarithmic axes; beyond the ends in proportion to the size."""
    below = max((pair for pair in times if pair[0] <= size), default=None)
    above = min((pair for pair in times if pair[0] >= size), default=None)
    if below is None or above is None:
        at, time_s = below or above or (0, inf)
        return time_s * max(1.0, size / max(at, 1))
    if below[0] == above[0]:
        return below[1]
    return time_between(size, below, above)
