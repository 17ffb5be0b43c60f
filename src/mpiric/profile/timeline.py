"""The ranks' timelines laid over one another: equal spans from each rank's own MPI_Init."""

from collections import Counter
from collections.abc import Sequence
from math import ceil

from mpiric.model.profile import TimelineRow, TimelineUse
from mpiric.model.record import RankRecord, Record, Span

_MOST_ROWS = 256  # above that, a row is the mean of neighbouring ranks


def timeline_of(record: Record, regions: Sequence[str]) -> TimelineUse:
    """At most `_MOST_ROWS` rows; ``regions`` are the names that the rows' numbers stand for.

    The lengths of two ranks' spans differ by a power of two: the longest is that of all.
    """
    ranks = [rank for rank in record.ranks if rank.timeline.spans and rank.timeline.span_s > 0]
    if not ranks:
        return TimelineUse(0.0, ())
    span_s = max(rank.timeline.span_s for rank in ranks)
    step = -(-len(ranks) // _MOST_ROWS)
    numbers = {name: position for position, name in enumerate(regions)}
    groups = [ranks[at : at + step] for at in range(0, len(ranks), step)]
    return TimelineUse(span_s, tuple(_row(group, span_s, numbers) for group in groups))


def _row(ranks: Sequence[RankRecord], span_s: float, regions: dict[str, int]) -> TimelineRow:
    columns = max(1, *(ceil(rank.wall_s / span_s - 1e-6) for rank in ranks))
    sums = [[0.0] * 5 for _ in range(columns)]  # as in a Span, and the time that there was
    votes: list[Counter[int]] = [Counter() for _ in range(columns)]
    for rank in ranks:
        own_s = rank.timeline.span_s
        for position, span in enumerate(rank.timeline.spans):
            begin_s = position * own_s
            column = min(columns - 1, int((begin_s + own_s / 2) / span_s))
            lasted_s = max(0.0, min(own_s, rank.wall_s - begin_s))
            for at, value in enumerate((*_times(span), lasted_s)):
                sums[column][at] += value
            votes[column][regions.get(rank.regions[span.region].name, 0)] += 1
    shares = [[min(1.0, value / whole) if whole else 0.0 for value in values] for *values, whole in sums]
    point_to_point, collective, other, files = zip(*shares, strict=True)
    return TimelineRow(
        first_rank=ranks[0].rank,
        last_rank=ranks[-1].rank,
        point_to_point=point_to_point,
        collective=collective,
        other_mpi=other,
        files=files,
        region=tuple(vote.most_common(1)[0][0] if vote else 0 for vote in votes),
    )


def _times(span: Span) -> tuple[float, float, float, float]:
    return span.point_to_point_s, span.collective_s, span.other_mpi_s, span.files_s
