"""Times of collectives distorted by the kernel scheduler; they are not ranked (`host.facts.time_slices`)."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace

from mpiric.host.facts.time_slices import Timed, disturbances
from mpiric.model.policy import LIBRARY, LearnedPolicy, Measured
from mpiric.statistics.sampling import SweepPoint, Times

_MOST_PREEMPTED = 0.5  # share of preempted batches from which the median batch is a preempted one


def disturbed_points(measured: Times, tick_s: float) -> dict[SweepPoint, str]:
    """Return the points of a sweep that cannot be ranked, with the reason."""
    series: dict[Hashable, dict[int, Timed]] = defaultdict(dict)
    for point, times in measured.items():
        series[point.subject, point.candidate][point.size] = _timed(times)
    reasons = {name: disturbances(sizes, tick_s) for name, sizes in series.items()}
    return {
        point: why for point in measured if (why := reasons[point.subject, point.candidate].get(point.size))
    }


def without_disturbed(measured: Times, tick_s: float) -> dict[SweepPoint, Measured]:
    """Return the times of a sweep that can be ranked."""
    disturbed = disturbed_points(measured, tick_s)
    return {point: times for point, times in measured.items() if point not in disturbed}


def undisturbed(learned: LearnedPolicy, tick_s: float) -> LearnedPolicy:
    """Return the policy without disturbed times; decisions that depend on them become undecided."""
    series: dict[Hashable, dict[int, Timed]] = defaultdict(dict)
    for key in learned.keys:
        for times in key.candidates:
            series[key.collective, key.shape, times.name][key.start] = _timed(times)
    reasons = {name: disturbances(sizes, tick_s) for name, sizes in series.items()}
    keys = []
    for key in learned.keys:
        remaining = tuple(
            times
            for times in key.candidates
            if key.start not in reasons[key.collective, key.shape, times.name]
        )
        compared = {LIBRARY, key.candidate} & {times.name for times in key.candidates}
        if compared <= {times.name for times in remaining}:
            keys.append(replace(key, candidates=remaining))
        else:
            keys.append(replace(key, candidates=remaining, candidate=LIBRARY, decided=False, confidence=0.0))
    return replace(learned, keys=tuple(keys))


def _timed(times: Measured) -> Timed:
    return Timed(times.median_s, times.high_s - times.low_s, times.preempted > _MOST_PREEMPTED)
