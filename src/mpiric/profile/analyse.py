"""Record → Profile with its timeline, and the comparison of two profiles."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from mpiric.algorithms.library import why_not_under_threads
from mpiric.host.command_log import masked
from mpiric.model.dataclass import dataclass
from mpiric.model.profile import (
    SHORT_S,
    Comparison,
    Profile,
    QuantityChange,
    TimelineRow,
    TimelineUse,
)
from mpiric.model.record import RankRecord, RankState, Record
from mpiric.profile import cells, communicators
from mpiric.profile.advise import advise
from mpiric.profile.cells import rank_uses
from mpiric.profile.communicators import by_collective, by_communicator, labels
from mpiric.profile.efficiency import Waiting, efficiencies
from mpiric.profile.expected import expected_numbers, networks_start
from mpiric.profile.files import file_totals
from mpiric.profile.numbers import (
    affinity_numbers,
    balance_numbers,
    counter_numbers,
    io_numbers,
    message_numbers,
    system_numbers,
    time_numbers,
)
from mpiric.profile.sites import site_uses, waiting_place
from mpiric.profile.slow_node import slow_node_numbers

_WORTH = 0.05  # share of the time in collectives that is worth a note
_IN_MEMORY = "record.in_memory"
_LIBRARY_PREFIX = "library."  # prefix of facts that the library reports


def analyse(record: Record, command: str = "", usable_cpus: Mapping[str, int] | None = None) -> Profile:
    """Analyse a record; ``command``: the user's command line, ``usable_cpus``: host → CPUs, if known."""
    waiting, names = Waiting(record), labels(record)
    functions, ranks, files = cells.by_function(record), rank_uses(record), file_totals(record)
    collectives = by_collective(record, names, waiting)
    p2p = communicators.between_ranks(record, communicators.POINT_TO_POINT)
    nodes, places = communicators.nodes_of(record)
    regions = cells.by_region(record)
    efficiency = efficiencies(record, waiting)
    inside = tuple(use for use in functions if use.name not in cells.OUTSIDE)
    numbers = {
        "ranks": record.world_size,
        "many_threads": float(any(map(cells.is_threaded, record.ranks))),
        "wall_s": max((rank.wall_s for rank in ranks), default=0.0),
        **time_numbers(inside, collectives, ranks),
        **message_numbers(record, p2p, places),
        **balance_numbers(ranks, efficiency),
        **system_numbers(record),
        **counter_numbers(record),
        **io_numbers(files, ranks),
        **affinity_numbers(ranks, usable_cpus or {}),
        **slow_node_numbers(record, ranks, places),
    }
    numbers |= expected_numbers(record, waiting, ranks, collectives, numbers)
    # Start-up of the rank that waits least for others in it.
    numbers["start_up_s"] = min(map(cells.outside_s, record.ranks), default=0.0)
    numbers["start_up_share"] = numbers["start_up_s"] / max(1e-9, numbers["start_up_s"] + numbers["wall_s"])
    numbers["networks_start_share"] = networks_start(_fact(record, "mpi.version")) * numbers["start_up_share"]
    timeline = timeline_of(record, [region.name for region in regions])
    numbers |= excess_numbers(timeline)
    parts = _fact(record, "mpi.version").split(",")[0].split()
    profile = Profile(
        command=command or " ".join(masked((_fact(record, "command"),))),
        mpi=" ".join(parts[:3]) or _fact(record, "mpi.family"),
        library=_library(record),
        world_size=record.world_size,
        wall_s=numbers["wall_s"],
        mpi_share=numbers["mpi_share"],
        efficiencies=efficiency,
        functions=functions,
        sizes=cells.by_size(record),
        communicators=by_communicator(record, names),
        collectives=collectives,
        regions=regions,
        timeline=timeline,
        ranks=ranks,
        files=files,
        sites=site_uses(record),
        waiting_place=waiting_place(record, int(numbers["busiest_rank"])),
        p2p=p2p,
        one_sided=communicators.between_ranks(record, communicators.ONE_SIDED),
        nodes=nodes,
        node_traffic=communicators.between_nodes(p2p, places),
        numbers=numbers,
        notes=(*_notes(record), *_library_algorithms(record, numbers)),
    )
    return replace(profile, advice=advise(profile))


def _fact(record: Record, key: str) -> str:
    return next((rank.facts[key] for rank in record.ranks if key in rank.facts), "")


def _library(record: Record) -> dict[str, str]:
    """Return what the library reported to rank 0 through MPI_T about its algorithms and transports."""
    facts = ((key, value) for rank in record.ranks for key, value in rank.facts.items())
    return {
        key.removeprefix(_LIBRARY_PREFIX): value for key, value in facts if key.startswith(_LIBRARY_PREFIX)
    }


def _library_algorithms(record: Record, numbers: Mapping[str, float]) -> tuple[str, ...]:
    """Return the note on algorithms of the library that cannot be chosen while the program runs."""
    version = _fact(record, "mpi.version").lower()
    implementation = "openmpi" if "open mpi" in version else "mpich" if "mpich" in version else ""
    why = why_not_under_threads(implementation)
    collectives = numbers["collective_wait_share"] + numbers["collective_transfer_share"]
    if not why or not numbers["many_threads"] or collectives < _WORTH:
        return ()
    return (
        "the program asks for MPI_THREAD_MULTIPLE: while it runs, mpiric chooses among its own collective "
        f"algorithms, not among the library's: {why}. `mpiric tune` sets the library's before MPI starts",
    )


def _notes(record: Record) -> tuple[str, ...]:
    notes = []
    if record.ranks and max(rank.wall_s for rank in record.ranks) < SHORT_S:
        notes.append("the run is very short: counts are exact, but shares of time are unreliable")
    if (threads := max(map(cells.threads_in_mpi, record.ranks), default=1)) > 1:
        notes.append(
            f"up to {threads} threads of a rank are in MPI at once: shares refer to the time of all threads"
        )
    if record.missing:
        notes.append(
            f"{len(record.missing)} of {record.world_size} ranks left no data: {_listed(record.missing)}"
        )
    ended = [rank.rank for rank in record.ranks if rank.state is not RankState.FINALIZED]
    if ended:
        notes.append(f"ranks that did not reach MPI_Finalize (their records are partial): {_listed(ended)}")
    in_memory = {rank.rank: rank.facts[_IN_MEMORY] for rank in record.ranks if _IN_MEMORY in rank.facts}
    if in_memory:
        why = ", ".join(sorted(set(in_memory.values())))
        notes.append(
            f"ranks that could not create a file ({why}) and kept their record in memory: "
            f"{_listed(list(in_memory))}"
        )
    for table in sorted({name for rank in record.ranks for name in rank.lost}):
        lost = sum(rank.lost.get(table, 0) for rank in record.ranks)
        notes.append(f"no space for {lost} entries of {table}: these numbers are too small")
    return tuple(notes)


def _listed(ranks: tuple[int, ...] | list[int], limit: int = 10) -> str:
    text = ", ".join(str(rank) for rank in ranks[:limit])
    return f"{text}, …" if len(ranks) > limit else text


_HEADLINE = (
    ("ranks", "ranks"),
    ("wall time", "wall_s"),
    ("share of MPI", "mpi_share"),
    ("parallel efficiency", "parallel_efficiency"),
    ("load balance", "load_balance"),
    ("serialisation efficiency", "serialisation_efficiency"),
    ("transfer efficiency", "transfer_efficiency"),
    ("share of files", "io_share"),
    ("share of the kernel", "system_share"),
    ("peak memory of a rank", "peak_bytes"),
)


def compare(first: tuple[str, Profile], second: tuple[str, Profile]) -> Comparison:
    """Compare two profiles. Times are per rank, so that runs of different size can be compared."""
    profiles = (first[1], second[1])
    before, after = profiles
    ids = [{advice.finding.id: advice.finding.says for advice in profile.advice} for profile in profiles]
    return Comparison(
        labels=(first[0], second[0]),
        profiles=profiles,
        headline=tuple(
            QuantityChange(name, before.numbers[key], after.numbers[key]) for name, key in _HEADLINE
        ),
        functions=_ordered(_joined(_time_per_rank(before), _time_per_rank(after))),
        calls=tuple(
            change for change in _joined(_calls(before), _calls(after)) if change.before != change.after
        ),
        sizes=_joined(_bytes(before), _bytes(after)),
        advice_gone=tuple(says for key, says in ids[0].items() if key not in ids[1]),
        advice_new=tuple(says for key, says in ids[1].items() if key not in ids[0]),
    )


def _time_per_rank(profile: Profile) -> dict[str, float]:
    return {use.name: use.time_s / max(1, len(profile.ranks)) for use in profile.functions}


def _calls(profile: Profile) -> dict[str, float]:
    return {use.name: use.calls for use in profile.functions}


def _bytes(profile: Profile) -> dict[str, float]:
    return {f"{use.low_bytes} … {use.high_bytes} B": use.bytes for use in profile.sizes}


def _joined(before: dict[str, float], after: dict[str, float]) -> tuple[QuantityChange, ...]:
    return tuple(
        QuantityChange(name, before.get(name, 0), after.get(name, 0))
        for name in dict.fromkeys([*before, *after])
    )


def _ordered(changes: tuple[QuantityChange, ...]) -> tuple[QuantityChange, ...]:
    return tuple(sorted(changes, key=lambda change: -abs(change.after - change.before)))


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
