"""Sums of cells by function, size, communicator and region, and the numbers of each rank."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from math import ceil

from mpiric.model.dataclass import dataclass
from mpiric.model.profile import FunctionUse, RankUse, RegionUse, SizeUse
from mpiric.model.record import CallCell, RankRecord, Record

# Functions whose time is not part of a rank's wall time.
OUTSIDE = frozenset(
    {"MPI_Init", "MPI_Init_thread", "MPI_Session_init", "MPI_Finalize", "MPI_Session_finalize"}
)

_MULTIPLE = (3, 4096)  # MPI_THREAD_MULTIPLE of MPICH and Open MPI, of the standard ABI


def outside_s(rank: RankRecord) -> float:
    """Return the time of a rank in the functions that start and end MPI."""
    return sum(cell.time_s + cell.waited_s for cell in rank.cells if cell.function in OUTSIDE)


def counted(rank: RankRecord) -> Iterator[CallCell]:
    """Return the cells whose time is part of the rank's wall time."""
    return (cell for cell in rank.cells if cell.function not in OUTSIDE)


def _spent_s(rank: RankRecord) -> float:
    return sum(cell.time_s + cell.waited_s for cell in counted(rank))


def is_threaded(rank: RankRecord) -> bool:
    """Return whether several threads of a rank may call MPI at once."""
    return rank.thread_level in _MULTIPLE


def threads_in_mpi(rank: RankRecord) -> int:
    """Return the number of threads concurrently in MPI, from the sum of their times."""
    if not is_threaded(rank) or rank.wall_s <= 0:
        return 1
    return max(1, ceil(_spent_s(rank) / rank.wall_s))


def mpi_s(rank: RankRecord) -> float:
    """Return the time of a rank in MPI with the barriers that measured its waiting, at most its wall time.

    For concurrent threads it is their mean; a sampled call that was preempted represents many others.
    """
    spent_s = _spent_s(rank) / threads_in_mpi(rank)
    return min(spent_s, rank.wall_s) if rank.wall_s > 0 else spent_s


@dataclass
class _Sum:
    calls: int = 0
    bytes: int = 0
    time_s: float = 0.0
    waited_s: float = 0.0
    shortest_s: float = 0.0
    longest_s: float = 0.0
    by_rank: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, rank: int, cell: CallCell) -> None:
        self.calls += cell.calls
        self.bytes += cell.bytes
        self.time_s += cell.time_s
        self.waited_s += cell.waited_s
        if cell.timed_calls:
            self.shortest_s = min(self.shortest_s or cell.shortest_s, cell.shortest_s)
            self.longest_s = max(self.longest_s, cell.longest_s)
        self.by_rank[rank] += cell.time_s


def by_function(record: Record) -> tuple[FunctionUse, ...]:
    """Return every called function, the most expensive first."""
    sums: dict[str, _Sum] = defaultdict(_Sum)
    for rank in record.ranks:
        for cell in rank.cells:
            sums[cell.function].add(rank.rank, cell)
    uses = [
        _function(name, record.function_classes.get(name, "manage"), total) for name, total in sums.items()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.time_s, use.name)))


def _function(name: str, kind: str, total: _Sum) -> FunctionUse:
    slowest = max(total.by_rank, key=lambda rank: (total.by_rank[rank], -rank))
    return FunctionUse(
        name=name,
        kind=kind,
        calls=total.calls,
        bytes=total.bytes,
        time_s=total.time_s,
        waited_s=total.waited_s,
        shortest_s=total.shortest_s,
        longest_s=total.longest_s,
        ranks=len(total.by_rank),
        slowest_rank=slowest,
        slowest_s=total.by_rank[slowest],
    )


def bin_bounds(size_bin: int) -> tuple[int, int]:
    """Return the smallest and largest message of a bin (inclusive)."""
    return (0, 0) if size_bin == 0 else (1 << (size_bin - 1), (1 << size_bin) - 1)


def by_size(record: Record) -> tuple[SizeUse, ...]:
    """Return calls that move data by bytes per call; calls without data are left out."""
    sums: dict[int, _Sum] = defaultdict(_Sum)
    for rank in record.ranks:
        for cell in counted(rank):
            if cell.size_bin:
                sums[cell.size_bin].add(rank.rank, cell)
    return tuple(
        SizeUse(*bin_bounds(size_bin), total.calls, total.bytes, total.time_s)
        for size_bin, total in sorted(sums.items())
    )


def by_region(record: Record) -> tuple[RegionUse, ...]:
    """Return the program's regions in the order of their first entry."""
    entries: dict[str, int] = defaultdict(int)
    times: dict[str, float] = defaultdict(float)
    within: dict[str, float] = defaultdict(float)
    for rank in record.ranks:
        names = [region.name for region in rank.regions]
        for position, region in enumerate(rank.regions):
            entries[region.name] += region.entries
            times[region.name] += region.time_s if position else rank.wall_s
        threads = threads_in_mpi(rank)
        for cell in counted(rank):
            within[names[cell.region]] += (cell.time_s + cell.waited_s) / threads
    return tuple(RegionUse(name, entries[name], times[name], within[name]) for name in entries)


POINT_TO_POINT = frozenset({"send", "receive", "start", "wait", "poll"})

_MOST_DIGITS = 20  # digits of a 64-bit number


def fact(rank: RankRecord, key: str) -> int:
    """Return a numeric fact, 0 if it is missing."""
    text = rank.facts.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


def rank_uses(record: Record) -> tuple[RankUse, ...]:
    """Return the numbers of every recorded rank, by rank."""
    return tuple(_use(rank, record) for rank in record.ranks)


def _use(rank: RankRecord, record: Record) -> RankUse:
    kinds, threads = record.function_classes, threads_in_mpi(rank)
    return RankUse(
        rank=rank.rank,
        host=rank.facts.get("host", "unknown"),
        numa_node=fact(rank, "numa_node"),
        cpu=fact(rank, "cpu"),
        affinity=rank.facts.get("affinity", ""),
        state=rank.state.value,
        wall_s=rank.wall_s,
        mpi_s=mpi_s(rank),
        collective_s=sum(
            c.time_s + c.waited_s for c in counted(rank) if kinds.get(c.function) == "collective"
        )
        / threads,
        point_to_point_s=sum(c.time_s for c in counted(rank) if kinds.get(c.function) in POINT_TO_POINT)
        / threads,
        io_s=sum(
            file.read_s + file.write_s + file.metadata_s for file in rank.files if file.interface != "mpi-io"
        ),
        peak_bytes=fact(rank, "memory.peak_kib") << 10,
        regions=tuple((region.name, region.time_s) for region in rank.regions[1:]),
        threads=threads,
    )
