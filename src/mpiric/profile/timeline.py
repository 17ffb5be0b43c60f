"""The ranks' timelines laid over one another: equal spans from each rank's own MPI_Init."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from mpiric.model.profile import TimelineRow, TimelineUse
from mpiric.model.record import RankRecord, Record

_MOST_ROWS = 256  # above that, a row is the mean of neighbouring ranks


def timeline_of(record: Record, regions: Sequence[str]) -> TimelineUse:
    """A timeline of at most `_MOST_ROWS` rows; ``regions`` are the names that their numbers stand for.

    The lengths of two ranks' spans differ by a power of two: the longest is that of all.
    """
    ranks = [rank for rank in record.ranks if rank.timeline.region and rank.timeline.span_s > 0]
    if not ranks:
        return TimelineUse(0.0, ())
    span_s = max(rank.timeline.span_s for rank in ranks)
    step = -(-len(ranks) // _MOST_ROWS)
    numbers = {name: position for position, name in enumerate(regions)}
    groups = [ranks[at : at + step] for at in range(0, len(ranks), step)]
    return TimelineUse(span_s, tuple(_row(group, span_s, numbers) for group in groups))


def _row(ranks: Sequence[RankRecord], span_s: float, regions: dict[str, int]) -> TimelineRow:
    laid = [_laid(rank, span_s, regions) for rank in ranks]
    *sums, lasted = (
        [sum(values) for values in zip_longest(*columns, fillvalue=0.0)]
        for columns in zip(*(rank.columns for rank in laid), strict=True)
    )
    shares = [
        tuple(min(1.0, value / whole) if whole else 0.0 for value, whole in zip(column, lasted, strict=True))
        for column in sums
    ]
    return TimelineRow(
        first_rank=ranks[0].rank,
        last_rank=ranks[-1].rank,
        point_to_point=shares[0],
        collective=shares[1],
        other_mpi=shares[2],
        files=shares[3],
        region=tuple(_most(values) for values in zip_longest(*(rank.region for rank in laid))),
    )


@dataclass(frozen=True)
class _Laid:
    """One rank in spans of the common length: a column an activity, and the time that each span lasted."""

    columns: tuple[Sequence[float], ...]
    region: Sequence[int]


def _laid(rank: RankRecord, span_s: float, regions: dict[str, int]) -> _Laid:
    line = rank.timeline
    joined = max(1, round(span_s / line.span_s))
    columns = [line.point_to_point_s, line.collective_s, line.other_mpi_s, line.files_s]
    if joined > 1:
        columns = [
            [sum(column[at : at + joined]) for at in range(0, len(column), joined)] for column in columns
        ]
    count = len(columns[0])
    lasted = [span_s] * (count - 1) + [min(span_s, max(0.0, rank.wall_s - (count - 1) * span_s))]
    numbers = [regions.get(region.name, 0) for region in rank.regions]
    region = [numbers[line.region[at]] for at in range(0, len(line.region), joined)]
    return _Laid((*columns, lasted), region)


def _most(values: tuple[int | None, ...]) -> int:
    present = [value for value in values if value is not None]
    return present[0] if present.count(present[0]) == len(present) else Counter(present).most_common(1)[0][0]
