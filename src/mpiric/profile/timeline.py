"""Timelines of all ranks in equal spans since each rank's MPI_Init."""

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from mpiric.model.dataclass import dataclass
from mpiric.model.profile import TimelineRow, TimelineUse
from mpiric.model.record import RankRecord, Record

_EVEN = {"excess_span_share": 0.0, "excess_from_s": 0.0, "excess_to_s": 0.0}
_MOST_EXCESS = 0.8  # share of a row's excess of work that the reported span covers
_MOST_ROWS = 256  # maximum; above it, a row is the mean of neighbouring ranks


def timeline_of(record: Record, regions: Sequence[str]) -> TimelineUse:
    """Return a timeline of at most `_MOST_ROWS` rows; ``regions`` are the names of region numbers.

    The spans of two ranks differ by a power of two: the longest is used for all.
    """
    ranks = [rank for rank in record.ranks if rank.timeline.region and rank.timeline.span_s > 0]
    if not ranks:
        return TimelineUse(0.0, ())
    span_s = max(rank.timeline.span_s for rank in ranks)
    step = -(-len(ranks) // _MOST_ROWS)
    numbers = {name: position for position, name in enumerate(regions)}
    groups = [ranks[at : at + step] for at in range(0, len(ranks), step)]
    return TimelineUse(span_s, tuple(_row(group, span_s, numbers) for group in groups))


def excess_numbers(timeline: TimelineUse) -> dict[str, float]:
    """Return the shortest time that contains most of the busiest row's excess over the mean.

    ``excess_span_share`` is its share of the run, nearly 1 for a steady imbalance.
    """
    rows = timeline.rows
    spans = max((len(row.collective) for row in rows), default=0)
    if len(rows) < 2 or not spans:
        return _EVEN
    work = [_work(row, spans) for row in rows]
    busiest = max(work, key=sum)
    means = [sum(column) / len(work) for column in zip(*work, strict=True)]
    excess = [max(0.0, busy - mean) for busy, mean in zip(busiest, means, strict=True)]
    if not sum(excess):
        return _EVEN
    threshold, first, total = _MOST_EXCESS * sum(excess), 0, 0.0
    best = (spans, 0, spans)
    for last, value in enumerate(excess, 1):
        total += value
        while total - excess[first] >= threshold and first < last - 1:
            total -= excess[first]
            first += 1
        if total >= threshold:
            best = min(best, (last - first, first, last))
    length, first, last = best
    return {
        "excess_span_share": length / spans,
        "excess_from_s": first * timeline.span_s,
        "excess_to_s": last * timeline.span_s,
    }


def _work(row: TimelineRow, spans: int) -> list[float]:
    """Return the share of each span that a row spends outside MPI; 0 after its end."""
    inside = zip(row.point_to_point, row.collective, row.other_mpi, strict=True)
    work = [max(0.0, 1.0 - sum(parts)) for parts in inside]
    return work + [0.0] * (spans - len(work))


def _row(ranks: Sequence[RankRecord], span_s: float, regions: dict[str, int]) -> TimelineRow:
    timelines = [_aligned(rank, span_s, regions) for rank in ranks]
    *sums, lasted = (
        [sum(values) for values in zip_longest(*columns, fillvalue=0.0)]
        for columns in zip(*(rank.columns for rank in timelines), strict=True)
    )
    shares = [
        tuple(
            min(1.0, value / duration) if duration else 0.0
            for value, duration in zip(column, lasted, strict=True)
        )
        for column in sums
    ]
    return TimelineRow(
        first_rank=ranks[0].rank,
        last_rank=ranks[-1].rank,
        point_to_point=shares[0],
        collective=shares[1],
        other_mpi=shares[2],
        files=shares[3],
        region=tuple(_most(values) for values in zip_longest(*(rank.region for rank in timelines))),
    )


@dataclass(frozen=True)
class _AlignedTimeline:
    """Timeline of a rank in spans of common length: a column per activity, and the durations."""

    columns: tuple[Sequence[float], ...]
    region: Sequence[int]


def _aligned(rank: RankRecord, span_s: float, regions: dict[str, int]) -> _AlignedTimeline:
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
    return _AlignedTimeline((*columns, lasted), region)


def _most(values: tuple[int | None, ...]) -> int:
    present = [value for value in values if value is not None]
    return present[0] if present.count(present[0]) == len(present) else Counter(present).most_common(1)[0][0]
