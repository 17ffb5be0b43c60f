"""Detection of times that result from the kernel's scheduling ticks instead of the measured operation.

If more processes spin than there are CPUs, a message waits until its receiver is scheduled again. The
kernel preempts a spinning process at a timer tick (`task_tick_fair`, kernel/sched/fair.c of Linux), so that
the time of a call is a multiple of the tick for any message size. Such times have little noise and would be
ranked with confidence.

The length of a tick is the resolution of the coarse clocks (clock_getres(2)): 4 ms with CONFIG_HZ=250.
"""

import time
from collections.abc import Mapping, Sequence

from mpiric.model.dataclass import dataclass

_MONOTONIC_COARSE = 6  # CLOCK_MONOTONIC_COARSE of Linux, which Python does not define
_OF_A_TICK = 0.02  # maximum distance from a multiple of the tick, as a share of the tick
_SPREAD_OF_A_TICK = 0.05
_SAME = 1.015  # times with a ratio below this are considered equal
_SIZES_APART, _LEAST_BYTES = 1024, 16 << 10  # sizes with this ratio take different times on every network
_LEAST_TICKS = 0.25  # shorter times are not caused by ticks: latencies are equal for many sizes


@dataclass(frozen=True)
class Timed:
    """Time of one message size: the ranked statistic, and its interquartile range."""

    time_s: float
    spread_s: float = 0.0
    preempted: bool = False  # a process lost its CPU in most of the underlying measurements


def tick_s() -> float:
    """Return the length of a tick of this kernel's timer."""
    return time.clock_getres(_MONOTONIC_COARSE)


def disturbances(series: Mapping[int, Timed], tick: float) -> dict[int, str]:
    """Return why the time of a size is disturbed; ``series`` has one candidate on the same ranks."""
    reasons = {size: why for size, timing in series.items() if (why := _of_one(timing, tick))}
    for sizes in _level(series, tick):
        reason = f"{_ms(series[sizes[0]])} for all sizes from {sizes[0]} to {sizes[-1]} bytes"
        reasons = {**dict.fromkeys(sizes, reason), **reasons}
    return reasons


def _of_one(timing: Timed, tick: float) -> str:
    if timing.preempted:
        return "a rank lost its CPU in most of the measurements"
    ticks = round(timing.time_s / tick)
    off = abs(timing.time_s - ticks * tick)
    if ticks and off <= _OF_A_TICK * tick and timing.spread_s <= _SPREAD_OF_A_TICK * tick:
        return f"{_ms(timing)} is a multiple of the scheduler's time slice of {tick * 1e3:g} ms"
    return ""


def _level(series: Mapping[int, Timed], tick: float) -> list[Sequence[int]]:
    """Return ranges of consecutive sizes with equal times although the sizes differ by a large factor."""
    runs: list[list[int]] = [[]]
    for size in sorted(series):
        times = [series[member].time_s for member in [*runs[-1], size]]
        if max(times) > _SAME * min(times):
            runs.append([])
        runs[-1].append(size)
    return [
        run
        for run in runs
        if run
        and run[-1] >= max(_LEAST_BYTES, _SIZES_APART * max(run[0], 1))
        and series[run[0]].time_s >= _LEAST_TICKS * tick
    ]


def _ms(timing: Timed) -> str:
    return f"{timing.time_s * 1e3:.3g} ms"
