"""The pace of runs that go on behind a mark: against what was forecast, and of one run against another."""

from mpiric.model.marks import MarkPair, RunMarks
from mpiric.model.pace import KeyPace, RunPace
from mpiric.tuning.marks.choice import choose_key, without_places

UNREACHED = 10**18  # number of a last mark that never comes: the times of all calls are kept
_ROOM = 0.05  # of the forecast, within which it has come true
_FEWEST_MARKS = 16


def pace_of(marks: RunMarks | None, pair: MarkPair) -> KeyPace | None:
    """Rank 0's calls of the mark's kind, as far as the run came; None when it left none."""
    first = next((rank for rank in marks.ranks if rank.rank == 0), None) if marks else None
    if first is None or not first.times_s:
        return None
    return KeyPace(pair.key, first.calls, first.stride, first.times_s)


def per_mark_s(pace: KeyPace | None, first: int, last: int | None = None) -> float | None:
    """Seconds from one mark to the next between two of them, at most to the last whose time is known.

    None when fewer than a handful lie between them.
    """
    if pace is None:
        return None
    last = pace.last_timed if last is None else min(last, pace.last_timed)
    if last - first < _FEWEST_MARKS:
        return None
    return (pace.time_of(last) - pace.time_of(first)) / (last - first)


def step_change(before: RunPace, after: RunPace) -> tuple[float, float] | None:
    """Seconds from one step to the next in two runs, over the steps that both made.

    What counts them in the first run counts them; None where that is nothing, or is not in the other. A
    rebuilt program calls from other places: where these do not agree, they tell no calls apart.
    """
    return _step_change(before, after) or _step_change(without_places(before), without_places(after))


def _step_change(before: RunPace, after: RunPace) -> tuple[float, float] | None:
    key = choose_key(before).key
    first_ranks = [run.first_rank for run in (before, after)]
    paces = [rank.of(key) if rank and key else None for rank in first_ranks]
    last = min(pace.last_timed if pace else 0 for pace in paces)
    steps = [per_mark_s(pace, 1 + last // 10, last) for pace in paces]
    return None if steps[0] is None or steps[1] is None else (steps[0], steps[1])


def against_forecast(pace: KeyPace | None, pair: MarkPair, forecast_s: float) -> str:
    """How the steps behind those of the proof compare with the forecast, in a sentence; "" if unknown."""
    later_s = per_mark_s(pace, pair.last)
    if pace is None or later_s is None:
        return ""
    ratio = later_s / forecast_s
    steps = f"steps {pair.last:,}–{pace.last_timed:,}"
    if abs(ratio - 1) <= _ROOM:
        return f"{steps} took what was forecast ({later_s:.3g} s each)"
    each = f"{later_s:.3g} s each instead of {forecast_s:.3g} s"
    return f"{steps} took {ratio:.2f} times what was forecast ({each})"
