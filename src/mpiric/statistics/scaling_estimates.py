"""Times, speedups and efficiencies of a scaling study with confidence intervals, and the bend of the curve.

Each block of runs contains every size once in random order. Speedups are ratios within blocks, so that a
machine that becomes slower during the study does not look like scaling.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, inf, log, sqrt
from statistics import mean, stdev

from mpiric.model.scaling import Interval, Size

Times = Mapping[Size, Mapping[int, float]]  # size → block → seconds

# Two-sided 95 % quantiles of Student's t distribution for 1, 2, … degrees of freedom.
_STUDENT_T = (
    12.71,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
)
_NORMAL = 1.96
_BEND = 0.8  # efficiency of a doubling of the cores below which the curve bends
_EQUAL = 0.02  # times closer than this are not distinguished


def interval_of(logs: Sequence[float]) -> Interval:
    """Return the geometric mean and its 95 % interval from logarithms; infinite for a single value."""
    middle = mean(logs)
    if len(logs) < 2:
        return Interval(exp(middle), 0.0, inf)
    freedom = len(logs) - 1
    quantile = _STUDENT_T[freedom - 1] if freedom <= len(_STUDENT_T) else _NORMAL
    half = quantile * stdev(logs) / sqrt(len(logs))
    return Interval(exp(middle), exp(middle - half), exp(middle + half))


def half_width(interval: Interval) -> float:
    """Return half of the width of an interval relative to its value."""
    return (interval.high - interval.low) / 2 / interval.value


def standard_error(times: Mapping[int, float]) -> float:
    """Return the standard error of the logarithm of the mean time; at least 0.5 %."""
    logs = [log(time_s) for time_s in times.values()]
    return max(0.005, stdev(logs) / sqrt(len(logs)) if len(logs) > 1 else 0.03)


def time_of(times: Mapping[int, float]) -> Interval:
    """Return the time of a size."""
    return interval_of([log(time_s) for time_s in times.values()])


def gain_of(reference: Mapping[int, float], times: Mapping[int, float]) -> Interval:
    """Return the time of the reference ÷ the time of a size, from the blocks that contain both."""
    common = reference.keys() & times.keys()
    if not common:
        return Interval(time_of(reference).value / time_of(times).value, 0.0, inf)
    return interval_of([log(reference[block] / times[block]) for block in sorted(common)])


def scaled(interval: Interval, factor: float) -> Interval:
    """Return an interval multiplied by a number."""
    return Interval(interval.value * factor, interval.low * factor, interval.high * factor)


def reference_size(times: Times) -> Size:
    """Return the size that speedups are relative to: the one with the fewest cores."""
    return min(times, key=lambda size: (size.cores, size))


def bend_of(points: Sequence[tuple[int, float]], *, is_weak: bool) -> tuple[int, int] | None:
    """Return the indices of the two successive sizes between which the curve bends; None if it does not.

    ``points`` are cores and seconds in ascending order of cores.
    """
    for index, (small, large) in enumerate(pairwise(points)):
        gain = small[1] / large[1]
        efficiency = gain if is_weak else gain * small[0] / large[0]
        doublings = max(log(large[0] / small[0]) / log(2), 0.1)
        if efficiency ** (1 / doublings) < _BEND:  # normalised to a doubling of the cores
            return index, index + 1
    return None


def fastest_of(sizes: Sequence[tuple[Size, Interval]]) -> Size:
    """Return the smallest size that is not shown to be slower than the fastest."""
    _, best = min(sizes, key=lambda item: item[1].value)
    limit_s = max(best.value * (1 + _EQUAL), min(best.high, best.value * 1.05))
    return min((size for size, time_s in sizes if time_s.value <= limit_s), key=lambda size: size.cores)
