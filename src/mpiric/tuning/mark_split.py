"""Split of a run's wall time into start-up, main part or time per mark, and end; forecasts and gains."""

from collections.abc import Iterable, Sequence
from math import inf
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.pace import KeyPace, MarkPair, MarksState, RankMarks, RunMarks, RunPace
from mpiric.model.run import Outcome, Phase, Split, Trial
from mpiric.model.tuned import PartRatio, SplitGain
from mpiric.statistics.claims import quotient, typical_ratio
from mpiric.statistics.confidence_sequence import Bounds, interval_of_bounds
from mpiric.tuning.mark_choice import choose_key, without_places

_ERROR = 0.05 / 2  # error of each of the two intervals, start-up and main part
_LEAST_S = 1e-9  # clocks are coarse, so that a part may take no time
_LONGER = (10, 100)  # lengths of forecast runs, in multiples of the measured main part


def split_of(run: RunMarks, pair: MarkPair | None, started_unix_s: float, wall_s: float) -> Split | None:
    """Split a run launched at ``started_unix_s`` that took ``wall_s``; None without rank 0's marks."""
    first = _first_rank(run)
    if first is None:
        return None
    main_s = first.finalize_s if first.state is not MarksState.ENDED else None
    start_s = _start_s(first, started_unix_s, wall_s - (main_s or 0.0))
    end_s = None if main_s is None else max(0.0, wall_s - start_s - main_s)
    if pair is None or first.first is None or first.last is None:
        return Split(start_s, main_s, end_s)
    # Median over the ranks, each by its own clock.
    ranks = [first] if pair.on_rank_0_alone else run.ranks
    spans = [rank.last.at_s - rank.first.at_s for rank in ranks if rank.first and rank.last]
    per_mark_s = median(spans) / (pair.last - pair.first)
    return Split(start_s + _before_steps_s(first, pair, per_mark_s), None, end_s, per_mark_s)


def split_of_stopped(
    run: RunMarks, bound: tuple[MarkPair, float] | None, started_unix_s: float, ran_s: float
) -> Split | None:
    """Return lower bounds of the times of a run stopped after ``ran_s``; None without rank 0's marks.

    ``bound`` holds the marks between which it was stopped, and the least number of seconds per mark.
    """
    first = _first_rank(run)
    if first is None:
        return None
    start_s = _start_s(first, started_unix_s, ran_s)
    if bound is None:
        return Split(start_s, max(0.0, ran_s - start_s), start_from_s=start_s)
    before_s = _before_steps_s(first, *bound)
    return Split(start_s + before_s, per_mark_s=bound[1], start_from_s=start_s)


def _first_rank(run: RunMarks) -> RankMarks | None:
    return next((rank for rank in run.ranks if rank.rank == 0), None)


def _start_s(first: RankMarks, started_unix_s: float, latest_s: float) -> float:
    """Return the time from launch to end of MPI_Init.

    The clocks of two hosts may differ. The result is at bound the time in MPI_Init, and within the run.
    """
    in_init_s = first.begin_unix_s + first.init_s - started_unix_s
    return min(max(in_init_s, first.init_s), max(first.init_s, latest_s))


def _before_steps_s(first: RankMarks, pair: MarkPair, per_mark_s: float) -> float:
    """Return the time from the end of MPI_Init to the first step, if all steps take ``per_mark_s``."""
    return max(0.0, first.first.at_s - pair.first * per_mark_s) if first.first is not None else 0.0


def forecast_s(split: Split, marks: float) -> float:
    """Return the wall time of a run with this number of marks: start-up, marks × pace, end."""
    assert split.per_mark_s is not None
    return split.start_s + marks * split.per_mark_s + (split.end_s or 0.0)


def marks_of(split: Split, length_s: float) -> float:
    """Return the number of marks in a run of this wall time, at bound one."""
    assert split.per_mark_s is not None
    return max(1.0, (length_s - split.start_s - (split.end_s or 0.0)) / split.per_mark_s)


def gain_of_longer(original: Split, tuned: Split, times: float) -> float:
    """Return original ÷ tuned for runs with the same start-up and end, and ``times`` the main part."""

    def longer_s(split: Split) -> float:
        assert split.main_s is not None
        return split.start_s + times * split.main_s + (split.end_s or 0.0)

    return longer_s(original) / longer_s(tuned)


def split_gain(pairs: Sequence[tuple[Split, Split]]) -> SplitGain | None:
    """Return the gain of each part, from the pairs (original, tuned) with known parts; None without any."""
    pairs = [pair for pair in pairs if None not in (_main_s(pair[0]), _main_s(pair[1]))]
    if not pairs:
        return None
    ended = [pair for pair in pairs if not any(map(_is_stopped, pair))] or pairs
    original, tuned = (_median_split([pair[side] for pair in ended]) for side in (0, 1))
    longer = () if original.main_s is None else _LONGER
    return SplitGain(
        original,
        tuned,
        _ratio((_start(a), _start(b)) for a, b in pairs),
        _ratio((_main(a), _main(b)) for a, b in pairs),
        tuple((times, gain_of_longer(original, tuned, times)) for times in longer),
    )


def paired_splits(trials: Iterable[Trial], configuration: Configuration) -> list[tuple[Split, Split]]:
    """Return the splits of the pairs (original, configuration) among the trials of a proof."""
    sides: dict[Configuration, dict[object, Split]] = {Configuration(): {}, configuration: {}}
    for trial in trials:
        counts = trial.outcome is Outcome.OK or trial.at_least is not None
        if trial.phase is Phase.PROOF and counts and trial.split is not None:
            sides.get(trial.configuration, {})[trial.pair, trial.replicate] = trial.split
    originals, tuned = sides[Configuration()], sides[configuration]
    return [(originals[pair], tuned[pair]) for pair in originals if pair in tuned]


def _main_s(split: Split) -> float | None:
    return split.per_mark_s if split.per_mark_s is not None else split.main_s


def _is_stopped(split: Split) -> bool:
    return split.start_from_s is not None


def _start(split: Split) -> Bounds:
    from_s = split.start_s if split.start_from_s is None else split.start_from_s
    return max(from_s, _LEAST_S), max(split.start_s, _LEAST_S)


def _main(split: Split) -> Bounds:
    main_s = max(_main_s(split) or 0.0, _LEAST_S)
    return main_s, inf if _is_stopped(split) else main_s


def _ratio(pairs: Iterable[tuple[Bounds, Bounds]]) -> PartRatio:
    pairs = list(pairs)
    ratios = [quotient(original, tuned) for original, tuned in pairs]
    return PartRatio(typical_ratio(pairs), *interval_of_bounds(ratios, _ERROR))


def _median_split(splits: Sequence[Split]) -> Split:
    def middle(name: str) -> float | None:
        values = [value for split in splits if (value := getattr(split, name)) is not None]
        return median(values) if values else None

    return Split(middle("start_s") or 0.0, middle("main_s"), middle("end_s"), middle("per_mark_s"))


UNREACHED = 10**18  # number of a last mark that is never reached, so that the times of all calls are recorded
_TOLERANCE = 0.05  # relative deviation from the forecast that counts as confirmed
_FEWEST_MARKS = 16


def pace_of(marks: RunMarks | None, pair: MarkPair) -> KeyPace | None:
    """Return rank 0's calls of the mark's kind up to the end of the run; None without data."""
    first = _first_rank(marks) if marks else None
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
