"""Choice of the window: the span of the two step markers between which trials are compared.

It begins after the transient. The transient is judged from all runs together: a single run may be slowed by
neighbours for a while, and only slowness at the same steps of all runs is a property of the program. It ends
where a longer window would cost more than it gains in precision. A trial costs the s seconds before the
window and its w seconds, and the logarithm of its pace varies by σ₀² + σ₁²/w: σ₀ between runs, σ₁ within a
run in a window of a second. The number of trials of a proof is proportional to that variance, so its price
(s + w)(σ₀² + σ₁²/w) is least at w = (σ₁/σ₀)·√s.
"""

from collections.abc import Sequence
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from mpiric.model.dataclass import dataclass
from mpiric.model.pace import KeyPace

_LEAST_WINDOW_S = 1.0
_TRIALS_PER_BUDGET = 40  # least number of windows that fit into the budget
_SEGMENTS = 32  # segments of equally many marks into which a run is cut
_LEAST_RUN_SPREAD = 0.01  # least σ₀: two or three runs may agree by chance, and no proof calls less
_TRANSIENT, _SIGMAS = 0.03, 4.0  # a segment beyond both belongs to the transient
# If the first half of the time has a larger share of the calls, most of them belong to the set-up.
_SET_UP_SHARE = 0.75
_GROWTH = 0.03  # growth over the observed time below which it is not reported

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MarkWindow:
    """Numbers of the two calls, with statistics of the runs that they were chosen from."""

    first: int
    last: int
    first_s: float  # median time of the first call
    last_s: float
    growth: float = 0.0  # relative growth of the time between two marks over the observed time; 0: none shown

    @property
    def per_mark_s(self) -> float:
        """Return the mean time from one mark to the next."""
        return (self.last_s - self.first_s) / (self.last - self.first)


def choose_window(paces: Sequence[KeyPace], budget_s: float, after_s: float = 0.0) -> MarkWindow | None:
    """Choose the window from rank 0's calls of the key in each run; it begins after ``after_s`` in all runs.

    None if too few marks were observed.
    """
    last_timed = min(pace.last_timed for pace in paces)
    numbers = _numbers(1, last_timed)
    if len(numbers) < 3:
        return None
    # If most calls belong to the set-up, the calls in the second half of the time are the steps.
    half = _first_call_after(paces, 1, last_timed, _median_s(paces, last_timed) / 2)
    later = _numbers(half, last_timed)
    if half > _SET_UP_SHARE * last_timed and len(later) >= 3:
        numbers = later
    times = np.array([[pace.time_of(number) for number in numbers] for pace in paces])
    lengths = np.maximum(np.diff(times, axis=1), 1e-9)
    begin = _transient(lengths)
    while begin < len(numbers) - 2 and times[:, begin].min() < after_s:
        begin += 1
    if times[:, begin].min() < after_s:
        return None
    first_s = float(np.median(times[:, begin]))
    length_s = min(
        max(_best_length_s(lengths[:, begin:], first_s), _LEAST_WINDOW_S), budget_s / _TRIALS_PER_BUDGET
    )
    last = _first_call_after(paces, numbers[begin] + 1, last_timed, first_s + length_s)
    last_s = _median_s(paces, last)
    return MarkWindow(numbers[begin], last, first_s, last_s, growth=_growth(lengths[:, begin:]))


def window_of(pace: KeyPace, first: int, last: int) -> MarkWindow | None:
    """Return the window between two calls by their numbers; None while the run has not reached the last."""
    if pace.last_timed < last:
        return None
    return MarkWindow(first, last, pace.time_of(first), pace.time_of(last))


def _numbers(first: int, last: int) -> list[int]:
    """Return the numbers of calls that cut a part of a run into segments of equally many marks."""
    step = max(1, (last - first) // _SEGMENTS)
    return list(range(first, last + 1, step))


def _median_s(paces: Sequence[KeyPace], number: int) -> float:
    return float(np.median([pace.time_of(number) for pace in paces]))


def _first_call_after(paces: Sequence[KeyPace], low: int, high: int, at_s: float) -> int:
    """Return the first call at or after this time; ``high`` if there is none."""
    while low < high:
        number = (low + high) // 2
        low, high = (low, number) if _median_s(paces, number) >= at_s else (number + 1, high)
    return low


def _transient(lengths: _Floats) -> int:
    """Return the number of first segments that all runs make slower, or faster, than the later trend."""
    segments: int = lengths.shape[1]
    half = segments // 2
    if half < 4:
        return min(1, segments - 1)
    logs = np.log(lengths)
    off = logs - np.median(logs[:, half:], axis=1, keepdims=True)
    at = np.arange(segments)
    off = off - np.polyval(np.polyfit(at[half:], np.median(off, axis=0)[half:], 1), at)
    limit = max(_TRANSIENT, _SIGMAS * float(off[:, half:].std()))
    agreed = (off > limit).all(axis=0) | (off < -limit).all(axis=0)
    steady = int(np.argmin(agreed)) if not agreed.all() else segments
    # A deviation that does not end in the first half is not a transient: the time per step grows or shrinks.
    return 1 if steady >= half else max(1, steady)


def _best_length_s(lengths: _Floats, start_s: float) -> float:
    segment_s = float(lengths.mean())
    within = lengths / lengths.mean(axis=1, keepdims=True)
    per_second = float(within.var()) * segment_s  # σ₁²
    between = 0.0
    if len(lengths) > 1:
        totals = lengths.sum(axis=1)
        between = float(np.log(totals).var(ddof=1)) - per_second / float(totals.mean())
    return sqrt(per_second / max(between, _LEAST_RUN_SPREAD**2) * start_s)


def _growth(lengths: _Floats) -> float:
    """Return the relative growth from the first segments to the last; 0 if it may be due to chance."""
    segments = lengths.shape[1]
    if segments < 8:
        return 0.0
    course = np.median(np.log(lengths), axis=0)
    at = np.arange(segments) - (segments - 1) / 2
    slope = float(at @ course) / float(at @ at)
    error = sqrt(float(((course - course.mean() - slope * at) ** 2).sum()) / (segments - 2) / float(at @ at))
    growth = exp(slope * (segments - 1)) - 1
    return growth if abs(growth) > _GROWTH and abs(slope) > _SIGMAS * error else 0.0
