"""Numbers of each rank: where it ran and what its time went into."""

from mpiric.model.profile import RankUse
from mpiric.model.record import RankRecord, Record
from mpiric.profile.cells import counted, mpi_s, threads_in_mpi

POINT_TO_POINT = frozenset({"send", "receive", "start", "wait", "poll"})

_MOST_DIGITS = 20  # of a number of 64 bits


def fact(rank: RankRecord, key: str) -> int:
    """A number among the facts, 0 when it is not there."""
    text = rank.facts.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


def rank_uses(record: Record) -> tuple[RankUse, ...]:
    """Every rank that recorded, by rank."""
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
