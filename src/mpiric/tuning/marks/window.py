"""The window: the two marks between which trials are compared.

It begins past the transient, which is judged from all runs together: single runs are slowed by neighbours for
a while, and only what all of them do in the same place is the program's. It ends where another second stops
paying. A trial costs the s seconds before the window and its w seconds, and the logarithm of its pace varies
by σ₀² + σ₁²/w: σ₀ from run to run, σ₁ within a run in a window of a second. A proof takes trials in
proportion to that variance, so its price (s + w)(σ₀² + σ₁²/w) is least at w = (σ₁/σ₀)·√s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from mpiric.model.pace import KeyPace

_LEAST_S = 1.0
_BUDGET_SHARE = 40  # trials that a budget is to have room for
_BLOCKS = 32  # of equally many marks, of which a run's course is made
_LEAST_RUN_SPREAD = 0.01  # σ₀: two or three runs show less by chance, no proof calls less
_TRANSIENT, _SIGMAS = 0.03, 4.0  # a block is of the transient beyond both
_OF_SET_UP = 0.75  # share of the calls in the first half of the time that indicates a set-up
_GROWTH = 0.03  # over what was seen, below which it is not worth a word

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MarkWindow:
    """Two marks by the numbers of their calls, and what the runs that they were chosen from say of them."""

    first: int
    last: int
    first_s: float  # when the runs come there, in the middle
    last_s: float
    growth: float = 0.0  # of the time between two marks, over what was seen; 0: none shown

    @property
    def per_mark_s(self) -> float:
        """Time from one mark to the next."""
        return (self.last_s - self.first_s) / (self.last - self.first)


def choose_window(paces: Sequence[KeyPace], budget_s: float, after_s: float = 0.0) -> MarkWindow | None:
    """Choose from rank 0's calls of the key in each run; ``after_s``: not before this time of any run.

    None when too few marks were seen.
    """
    last_known = min(pace.last_timed for pace in paces)
    numbers = _numbers(1, last_known)
    if len(numbers) < 3:
        return None
    # Most calls may be of the set-up: then the calls in the second half of the time belong to the steps.
    half = _first_call_after(paces, 1, last_known, _middle(paces, last_known) / 2)
    later = _numbers(half, last_known)
    if half > _OF_SET_UP * last_known and len(later) >= 3:
        numbers = later
    times, lengths = _blocks(paces, numbers)
    begin = _transient(lengths)
    while begin < len(numbers) - 2 and times[:, begin].min() < after_s:
        begin += 1
    if times[:, begin].min() < after_s:
        return None
    first_s = float(np.median(times[:, begin]))
    wanted_s = min(max(_best_length_s(lengths[:, begin:], first_s), _LEAST_S), budget_s / _BUDGET_SHARE)
    last = _first_call_after(paces, numbers[begin] + 1, last_known, first_s + wanted_s)
    return MarkWindow(numbers[begin], last, first_s, _middle(paces, last), growth=_growth(lengths[:, begin:]))


def window_of(pace: KeyPace, first: int, last: int) -> MarkWindow | None:
    """The window between two calls that were named; None while the run has not come to the last."""
    if pace.last_timed < last:
        return None
    return MarkWindow(first, last, pace.time_of(first), pace.time_of(last))


def _numbers(first: int, last: int) -> list[int]:
    """Numbers of calls that cut a part of a run into blocks of equally many marks."""
    step = max(1, (last - first) // _BLOCKS)
    return list(range(first, last + 1, step))


def _blocks(paces: Sequence[KeyPace], numbers: Sequence[int]) -> tuple[_Floats, _Floats]:
    """Times of these calls in each run, and the lengths of the blocks between them."""
    times = np.array([[pace.time_of(number) for number in numbers] for pace in paces])
    return times, np.maximum(np.diff(times, axis=1), 1e-9)


def _middle(paces: Sequence[KeyPace], number: int) -> float:
    return float(np.median([pace.time_of(number) for pace in paces]))


def _first_call_after(paces: Sequence[KeyPace], low: int, high: int, at_s: float) -> int:
    """The first call at this time or later; ``high`` when there is none."""
    while low < high:
        number = (low + high) // 2
        low, high = (low, number) if _middle(paces, number) >= at_s else (number + 1, high)
    return low


def _deviations(lengths: _Floats) -> _Floats:
    """Logarithms of the blocks' lengths, relative to the middle of their run's second half."""
    logs = np.log(lengths)
    half = lengths.shape[1] // 2
    return np.asarray(logs - np.median(logs[:, half:], axis=1, keepdims=True))


def _transient(lengths: _Floats) -> int:
    """Blocks at the beginning that all runs make slower, or all faster, than the trend of the second half."""
    blocks: int = lengths.shape[1]
    half = blocks // 2
    if half < 4:
        return min(1, blocks - 1)
    off = _deviations(lengths)
    at = np.arange(blocks)
    off = off - np.polyval(np.polyfit(at[half:], np.median(off, axis=0)[half:], 1), at)
    limit = max(_TRANSIENT, _SIGMAS * float(off[:, half:].std()))
    agreed = (off > limit).all(axis=0) | (off < -limit).all(axis=0)
    steady = int(np.argmin(agreed)) if not agreed.all() else blocks
    # What does not end in the first half is no transient: the steps grow, or shrink.
    return 1 if steady >= half else max(1, steady)


def _best_length_s(lengths: _Floats, start_s: float) -> float:
    block_s = float(lengths.mean())
    within = lengths / lengths.mean(axis=1, keepdims=True)
    per_second = float(within.var()) * block_s  # σ₁²
    between = 0.0
    if len(lengths) > 1:
        between = float(np.log(lengths.sum(axis=1)).var(ddof=1)) - per_second / float(
            lengths.sum(axis=1).mean()
        )
    return sqrt(per_second / max(between, _LEAST_RUN_SPREAD**2) * start_s)


def _growth(lengths: _Floats) -> float:
    """How much longer the last blocks take than the first ones, 0 where no run or chance alone shows it."""
    blocks = lengths.shape[1]
    if blocks < 8:
        return 0.0
    course = np.median(np.log(lengths), axis=0)
    at = np.arange(blocks) - (blocks - 1) / 2
    slope = float(at @ course) / float(at @ at)
    error = sqrt(float(((course - course.mean() - slope * at) ** 2).sum()) / (blocks - 2) / float(at @ at))
    grown = exp(slope * (blocks - 1)) - 1
    return grown if abs(grown) > _GROWTH and abs(slope) > _SIGMAS * error else 0.0
