"""Pace of a run beyond the last mark of the proof, compared with the forecast or with another run."""

from mpiric.model.marks import MarkPair, RunMarks
from mpiric.model.pace import KeyPace, RunPace
from mpiric.tuning.marks.choice import choose_key, without_places

UNREACHED = 10**18  # number of a last mark that is never reached, so that the times of all calls are recorded
_TOLERANCE = 0.05  # relative deviation from the forecast that counts as confirmed
_FEWEST_MARKS = 16


def pace_of(marks: RunMarks | None, pair: MarkPair) -> KeyPace | None:
    """Return rank 0's calls of the mark's kind up to the end of the run; None without data."""
    first = next((rank for rank in marks.ranks if rank.rank == 0), None) if marks else None
    if first is None or not first.times_s:
        return None
    return KeyPace(pair.key, first.calls, first.stride, first.times_s)


def per_mark_s(pace: KeyPace | None, first: int, last: int | None = None) -> float | None:
    """Return the mean time in seconds between successive marks from ``first`` to ``last``.

    ``last`` is limited to the last mark with a known time. None for fewer than 16 marks.
    """
    if pace is None:
        return None
    last = pace.last_timed if last is None else min(last, pace.last_timed)
    if last - first < _FEWEST_MARKS:
        return None
    return (pace.time_of(last) - pace.time_of(first)) / (last - first)


def step_change(before: RunPace, after: RunPace) -> tuple[float, float] | None:
    """Return the mean times in seconds per step of two runs, over the steps that both made.

    Steps are counted by the step marker of the first run. If the second run has no such calls, call sites are
    ignored, because a rebuilt program has other addresses. None if no step marker serves both runs.
    """
    for runs in ((before, after), (without_places(before), without_places(after))):
        key = choose_key(runs[0]).key
        paces = [run.first_rank.of(key) if run.first_rank and key else None for run in runs]
        last = min(pace.last_timed if pace else 0 for pace in paces)
        before_s, after_s = (per_mark_s(pace, 1 + last // 10, last) for pace in paces)
        if before_s is not None and after_s is not None:
            return before_s, after_s
    return None


def against_forecast(pace: KeyPace | None, pair: MarkPair, forecast_s: float) -> str:
    """Compare the steps after the proof's last mark with the forecast, in a sentence; "" if unknown."""
    later_s = per_mark_s(pace, pair.last)
    if pace is None or later_s is None:
        return ""
    ratio = later_s / forecast_s
    steps = f"steps {pair.last:,}–{pace.last_timed:,}"
    if abs(ratio - 1) <= _TOLERANCE:
        return f"{steps} took the forecast time ({later_s:.3g} s each)"
    times = f"{later_s:.3g} s each instead of {forecast_s:.3g} s"
    return f"{steps} took {ratio:.2f} times the forecast time ({times})"
