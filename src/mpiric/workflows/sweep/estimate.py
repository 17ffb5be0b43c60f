"""What a sweep costs: before anything was measured between two networks, then by the library's own times."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, exp, inf, log, log2

from mpiric.model.policy import LIBRARY
from mpiric.tuning.policy.sampling import Subject, SweepPoint, Times, next_points
from mpiric.workflows.sweep.grid import in_blocks
from mpiric.workflows.sweep.plan import SweepPlan
from mpiric.workflows.sweep.request import NONBLOCKING

# As the probe measures a point (`src/probes/probe_collectives.cpp`).
_USUAL_BATCHES, _LEAST_BATCHES, _MOST_CALLS = 11, 3, 2000
_FIRST_CALLS, _FIRST_CALLS_OF_OWN = 2, 16
_OTHER_CALLS = 3  # the one that is looked at, and two that say how long a call is
_MEETINGS = 2  # short collectives of each batch
_START_S = 2.0  # of a launch
_PATIENCE = 10.0


@dataclass(frozen=True)
class Network:
    """What a call is taken to cost as long as none was measured."""

    words: str
    latency_s: float
    bytes_per_s: float

    def call_s(self, subject: Subject, size: int) -> float:
        """A step for each doubling of the ranks, and all bytes of a rank one after another."""
        ranks = subject.shape.ranks
        moved = size * (ranks if in_blocks(subject.collective) else 1)
        return self.latency_s * ceil(log2(ranks)) + moved / self.bytes_per_s


FAST = Network("2 µs and 10 GB/s", 2e-6, 10e9)
SLOW = Network("1 ms and 100 Mbit/s", 1e-3, 12.5e6)


def guessed_s(plan: SweepPlan, network: Network) -> float:
    """Seconds that the full grid takes where calls cost what they do on this network."""
    points_s = (
        _point_s(plan, p, network.call_s(p.subject, p.size), network.call_s(p.subject, 0))
        for p in _grid(plan)
    )
    return sum(points_s) + _launches(plan) * _START_S


class Costs:
    """What points will take, by the library's own times as far as they are known."""

    def __init__(self, plan: SweepPlan, measured: Times) -> None:
        self._plan = plan
        self._own: dict[Subject, list[tuple[int, float]]] = defaultdict(list)
        for point, times in sorted(measured.items()):
            if point.candidate == LIBRARY:
                self._own[point.subject].append((point.size, times.median_s))

    @property
    def are_known(self) -> bool:
        """Whether each collective was measured at its least and its largest size."""
        grids = self._plan.sizes
        return all({grid[0], grid[-1]} <= {at for at, _ in self._own[of]} for of, grid in grids.items())

    def point_s(self, point: SweepPoint) -> float | None:
        """Seconds to measure it if the candidate is as fast as the library; None when that is not known."""
        known = self._own.get(point.subject)
        if not known:
            return None
        shortest_s = min(time_s for _, time_s in known)
        return _point_s(self._plan, point, _between(known, point.size), shortest_s)

    def sum_s(self, points: Iterable[SweepPoint]) -> float:
        """Sum over several points; those that are not known count nothing."""
        return sum(self.point_s(point) or 0.0 for point in points)

    def patience_s(self, points: Sequence[SweepPoint]) -> float:
        """How long a launch of these may take: much longer than with the library's own algorithms."""
        request = self._plan.request
        known = all(point.subject in self._own for point in points)
        if request.limit_s is not None or not known:
            return request.patience_s(len(points))
        return request.patience_s(0) + _PATIENCE * self.sum_s(points)

    def first_pass_s(self, measured: Times) -> float:
        """What is certain to be measured yet."""
        plan = self._plan
        wanted = next_points(plan.sizes, plan.candidates, measured, plan.stride)
        return self.sum_s(wanted) + _START_S * _pass_launches(plan)

    def grid_s(self, measured: Times) -> float:
        """What is left of the full grid."""
        left = (point for point in _grid(self._plan) if point not in measured)
        return self.sum_s(left) + _START_S * _launches(self._plan)


def cost_by_guess(plan: SweepPlan) -> str:
    """The sentence shown before anything was measured."""
    ranks = len(plan.nodes)
    low, high = (guessed_s(plan, network) for network in (FAST, SLOW))
    return (
        f"at most {plan.points} points on {ranks} ranks: {_core_hours(low, ranks)} core-hours "
        f"({_time(low)}) where calls are as fast as on a network of {FAST.words}, {_core_hours(high, ranks)} "
        f"({_time(high)}) on one of {SLOW.words}{_ended(plan, high)}"
    )


def cost_by_own_times(plan: SweepPlan, costs: Costs, measured: Times) -> str:
    """The sentence shown when the library's own times are known."""
    ranks = len(plan.nodes)
    first, most = costs.first_pass_s(measured), costs.grid_s(measured)
    first = min(first, most)
    return (
        f"by the library's own times: another {_core_hours(first, ranks)} core-hours ({_time(first)}) for "
        f"the first pass, {_core_hours(most, ranks)} ({_time(most)}) for the whole grid, and more where "
        "other algorithms are slower; then what gains is measured twice more"
        f"{_ended(plan, most)}"
    )


def _ended(plan: SweepPlan, seconds: float) -> str:
    """What the budget makes of it."""
    budget_s = plan.request.budget_s
    if budget_s is None or budget_s >= seconds:
        return ""
    return f"; the budget ends it after {_time(budget_s)}"


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
    """The sizes between come in rounds of halving."""
    return _pass_launches(plan) * max((len(sizes).bit_length() for sizes in plan.sizes.values()), default=1)


def _pass_launches(plan: SweepPlan) -> int:
    """A launch has one candidate of each collective, and blocking forms none with those that do not."""
    most = {False: 0, True: 0}
    for subject, names in plan.candidates.items():
        form = subject.collective in NONBLOCKING
        most[form] = max(most[form], 1 + len(names))
    return sum(most.values())


def _point_s(plan: SweepPlan, point: SweepPoint, call_s: float, short_s: float) -> float:
    """``short_s``: a call that moves next to nothing."""
    seconds = plan.request.seconds
    batches = _LEAST_BATCHES if call_s > seconds else _USUAL_BATCHES
    in_batch = min(max(int(seconds / batches / max(call_s, 1e-9)), 1), _MOST_CALLS)
    first = _FIRST_CALLS_OF_OWN if point.candidate.startswith("own:") else _FIRST_CALLS
    meetings = _MEETINGS * (batches + 2)
    return call_s * (first + _OTHER_CALLS + batches * in_batch) + meetings * short_s


def _between(known: list[tuple[int, float]], size: int) -> float:
    """Interpolate between the neighbours on logarithmic axes; beyond the ends in proportion to the size."""
    below = max((each for each in known if each[0] <= size), default=None)
    above = min((each for each in known if each[0] >= size), default=None)
    if below is None or above is None:
        at, time_s = below or above or (0, inf)
        return time_s * max(1.0, size / max(at, 1))
    if below[0] == above[0]:
        return below[1]
    share = log(size / max(below[0], 1)) / log(above[0] / max(below[0], 1))
    return exp((1 - share) * log(max(below[1], 1e-12)) + share * log(max(above[1], 1e-12)))
