"""The split of one run, from what its ranks left: start-up, main part or time per mark, end."""

from statistics import median

from mpiric.model.marks import MarkPair, MarksState, RankMarks, RunMarks
from mpiric.model.trial import Split


def split_of(run: RunMarks, pair: MarkPair | None, started_unix_s: float, wall_s: float) -> Split | None:
    """Split a run launched at ``started_unix_s`` that took ``wall_s``; None without rank 0's marks."""
    first = next((rank for rank in run.ranks if rank.rank == 0), None)
    if first is None:
        return None
    in_init_s = first.begin_unix_s + first.init_s - started_unix_s
    main_s = first.finalize_s if first.state is not MarksState.ENDED else None
    # Hosts' clocks differ: start-up is at least the time in MPI_Init, and ends within the run.
    latest_s = max(first.init_s, wall_s - (main_s or 0.0))
    start_s = min(max(in_init_s, first.init_s), latest_s)
    end_s = None if main_s is None else max(0.0, wall_s - start_s - main_s)
    if pair is None:
        return Split(start_s, main_s, end_s)
    per_mark_s = _per_mark_s(first, run, pair)
    if per_mark_s is None:
        return Split(start_s, main_s, end_s)
    assert first.first is not None
    before_s = max(0.0, first.first.at_s - pair.first * per_mark_s)
    return Split(start_s + before_s, None, end_s, per_mark_s)


def _per_mark_s(first: RankMarks, run: RunMarks, pair: MarkPair) -> float | None:
    """Middle of the ranks, each by its own clock; None unless rank 0 came to both marks."""
    if first.first is None or first.last is None:
        return None
    counting = [first] if pair.on_rank_0_alone else run.ranks
    spans = [rank.last.at_s - rank.first.at_s for rank in counting if rank.first and rank.last]
    return median(spans) / (pair.last - pair.first)
