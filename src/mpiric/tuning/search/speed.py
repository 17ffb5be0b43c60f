"""Changes of the machine's speed during a search, seen by the repeated runs of the original. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from mpiric.tuning.search.space import Point

_CHANGED = 0.33  # difference of two logarithms of the original's time: 1.4 times, beyond most noise


def at_last_speed(points: Sequence[Point], logs: Sequence[float]) -> list[float]:
    """Return the logarithms of the times that all runs would have at the speed of the last ones.

    Runs of the original that agree within 1.4 times are at one speed. Between the last run at one speed and
    the first at the next one, the change is placed where the runs differ least from the original at the speed
    of their side (least absolute deviations).
    """
    speeds: list[list[int]] = []
    for at, point in enumerate(points):
        if any(point):
            continue
        if speeds and abs(logs[at] - median(logs[run] for run in speeds[-1])) <= _CHANGED:
            speeds[-1].append(at)
        else:
            speeds.append([at])
    levels = [median(logs[run] for run in runs) for runs in speeds]
    moved, start = list(logs), 0
    for (runs, level), (later_runs, later) in pairwise(zip(speeds, levels, strict=True)):
        between = range(runs[-1] + 1, later_runs[0] + 1)

        def deviation(change: int, low: float = level, high: float = later, runs: range = between) -> float:
            return sum(abs(logs[at] - (low if at < change else high)) for at in runs)

        change = min(between, key=deviation)
        for at in range(start, change):
            moved[at] += levels[-1] - level
        start = change
    return moved
