"""Numbers of each rank: location, and time by activity."""

from mpiric.model.profile import RankUse
from mpiric.model.record import RankRecord, Record
from mpiric.profile.cells import counted, mpi_s, threads_in_mpi

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
