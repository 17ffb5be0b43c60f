"""Times that are those of the kernel's scheduler instead of what was measured.

Where more processes spin than there are CPUs, a message waits until its receiver runs again. The kernel
takes a CPU from a process that spins at a tick of its timer (`task_tick_fair`, kernel/sched/fair.c of Linux),
so that the time of a call is a whole number of ticks, whatever its size. Such times have little noise and
would be ranked with confidence.

The length of a tick is the resolution of the coarse clocks (clock_getres(2)): 4 ms with CONFIG_HZ=250.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MONOTONIC_COARSE = 6  # CLOCK_MONOTONIC_COARSE of Linux, which Python does not name
_OF_A_TICK = 0.02  # a time that is so close to a whole number of ticks is one, unless it varies by more
_SPREAD_OF_A_TICK = 0.05
_SAME = 1.015  # times whose quotient is below this do not differ
_SIZES_APART, _LEAST_BYTES = 1024, 16 << 10  # sizes between which every network takes longer
_LEAST_TICKS = 0.25  # shorter times cannot come from slices: latencies are the same for many sizes


@dataclass(frozen=True)
class Timed:
    """The time of one message size: the statistic that is ranked, and the distance of its quartiles."""

    time_s: float
    spread_s: float = 0.0
    preempted: bool = False  # whether a process lost its CPU in the measurements that the statistic rests on


def tick_s() -> float:
    """Length of a tick of this kernel's timer."""
    return time.clock_getres(_MONOTONIC_COARSE)


def disturbances(series: Mapping[int, Timed], tick: float) -> dict[int, str]:
    """Size → why its time is the scheduler's; ``series`` is of one candidate on the same ranks."""
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
    """Runs of neighbouring sizes far apart whose times are all the same."""
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
