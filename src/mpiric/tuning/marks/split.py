"""The split of one run, from what its ranks left: start-up, main part or time per mark, end."""

from statistics import median

from mpiric.model.marks import MarkPair, MarksState, RankMarks, RunMarks
from mpiric.model.trial import Split


def split_of(run: RunMarks, pair: MarkPair | None, started_unix_s: float, wall_s: float) -> Split | None:
    """Split a run launched at ``started_unix_s`` that took ``wall_s``; None without rank 0's marks."""
    first = _first_rank(run)
    if first is None:
        return None
    main_s = first.finalize_s if first.state is not MarksState.ENDED else None
    start_s = _start_s(first, started_unix_s, wall_s - (main_s or 0.0))
    end_s = None if main_s is None else max(0.0, wall_s - start_s - main_s)
    if pair is None:
        return Split(start_s, main_s, end_s)
    per_mark_s = _per_mark_s(first, run, pair)
    if per_mark_s is None:
        return Split(start_s, main_s, end_s)
    return Split(start_s + _before_steps_s(first, pair, per_mark_s), None, end_s, per_mark_s)


def split_of_stopped(
    run: RunMarks, least: tuple[MarkPair, float] | None, started_unix_s: float, ran_s: float
) -> Split | None:
    """Bounds of the times of a run that was stopped after it ``ran_s``; None without rank 0's marks.

    ``least`` are the marks that it ran between, and the seconds per mark that it takes at least.
    """
    first = _first_rank(run)
    if first is None:
        return None
    start_s = _start_s(first, started_unix_s, ran_s)
    if least is None:
        return Split(start_s, max(0.0, ran_s - start_s), start_from_s=start_s)
    before_s = _before_steps_s(first, *least)
    return Split(start_s + before_s, per_mark_s=least[1], start_from_s=start_s)


def _first_rank(run: RunMarks) -> RankMarks | None:
    return next((rank for rank in run.ranks if rank.rank == 0), None)


def _start_s(first: RankMarks, started_unix_s: float, latest_s: float) -> float:
    """Time from launch to end of MPI_Init. Hosts' clocks differ: at least what it took, within the run."""
    in_init_s = first.begin_unix_s + first.init_s - started_unix_s
    return min(max(in_init_s, first.init_s), max(first.init_s, latest_s))


def _before_steps_s(first: RankMarks, pair: MarkPair, per_mark_s: float) -> float:
    """Time from the end of MPI_Init to the first step, if all steps take as long as those between marks."""
    return max(0.0, first.first.at_s - pair.first * per_mark_s) if first.first is not None else 0.0


def _per_mark_s(first: RankMarks, run: RunMarks, pair: MarkPair) -> float | None:
    """Middle of the ranks, each by its own clock; None unless rank 0 came to both marks."""
    if first.first is None or first.last is None:
        return None
    counting = [first] if pair.on_rank_0_alone else run.ranks
    spans = [rank.last.at_s - rank.first.at_s for rank in counting if rank.first and rank.last]
    return median(spans) / (pair.last - pair.first)
