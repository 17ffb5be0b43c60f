"""Evenness: whether calls of one kind come so regularly that they count a program's steps."""

from collections.abc import Sequence
from itertools import pairwise

LEAST_CALLS = 16
_SPAN = 0.8  # of the time looked at, from the first call in it to the last
_OFF_UNIFORM = 0.2  # largest distance of the calls' distribution from the uniform one (Kolmogorov–Smirnov)
_GAP = 0.25  # of the time looked at, without a call


def is_even(times_s: Sequence[float], stride: int, seen_s: float) -> bool:
    """Whether calls come evenly in the second half of what was seen: the first half is start-up, or may be.

    ``times_s`` are the times of every ``stride``-th call, ``seen_s`` until when the run was looked at.
    """
    half_s = seen_s / 2
    late = [(time_s - half_s) / half_s for time_s in times_s if half_s <= time_s <= seen_s] if half_s else []
    count = len(late)
    if count * stride < LEAST_CALLS or late[-1] - late[0] < _SPAN:
        return False
    if any(after - before > _GAP for before, after in pairwise((0.0, *late, 1.0))):
        return False
    return all(
        abs(at - index / count) <= _OFF_UNIFORM and abs(at - (index + 1) / count) <= _OFF_UNIFORM
        for index, at in enumerate(late)
    )
