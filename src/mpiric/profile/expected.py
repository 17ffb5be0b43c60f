"""Gains that a setting is expected to bring: numbers that rules of advice use as ``expected``."""

from collections import Counter
from collections.abc import Mapping
from math import sqrt

from mpiric.model.machine import parse_pu_list
from mpiric.model.profile import CollectiveUse, RankUse
from mpiric.model.record import RankRecord, Record
from mpiric.profile.cells import POINT_TO_POINT, counted, fact
from mpiric.profile.efficiency import Waiting

_COPY_BYTES_PER_S = 4e9  # a copy reads and writes, half of the bandwidth of a core
_TAKEN_BACK = 1.3  # time of a page with its return to the kernel, relative to its fault alone
_FAULT_S = 0.5e-6  # page fault including zeroing of 4 KiB, for records that do not have its cost
_PAGE_KIB = 4
_YIELDING_PER_S = 4000  # switches in a second of CPU time of ranks that yield already
_OF_YIELDING = 0.1  # share of the gain that is left to these ranks
# Share of MPI_Init and MPI_Finalize in which networks are opened, by the beginning of the library's version.
_NETWORKS_START = {"open mpi v5": 0.95, "open mpi": 0.7, "": 0.3}
_SHARING_PER_S = 20  # involuntary switches per second from which others use the CPUs of the ranks, too
_GATHERED, _JOINED = 4, 16  # messages, accesses that are combined into one


def expected_numbers(
    record: Record,
    waiting: Waiting,
    ranks: tuple[RankUse, ...],
    collectives: tuple[CollectiveUse, ...],
    numbers: Mapping[str, float],
) -> dict[str, float]:
    """Return the numbers that rules use as ``expected``; 0 if the record has no basis for them."""
    total_s = sum(rank.time_s for rank in ranks) or 1.0
    transfer = _point_to_point_transfer_s(record, waiting) / total_s
    late_bytes = _late_bytes(record)
    barriers = [use for use in collectives if use.name == "MPI_Barrier"]
    system_s = sum(fact(rank, "time.system_us") for rank in record.ranks) / 1e6
    taken_share = max(0.0, 1.0 - numbers["cpu_use"] - numbers["io_share"])
    # Where ranks share CPUs with others, the run is as long as its CPU time at their share of the CPUs.
    on_cpu = 1.0 - taken_share if numbers["involuntary_per_s"] >= _SHARING_PER_S else 1.0
    fault_s = sum(_repeated_faults(rank) * _fault_s(rank) for rank in record.ranks)
    crowding, sharing = numbers["ranks_per_cpu"], _most_on_one_cpu(ranks)
    return {
        "point_to_point_transfer_share": transfer,
        "late_bytes_in_all": late_bytes,
        "late_copy_share": min(numbers["point_to_point_share"], late_bytes / _COPY_BYTES_PER_S / total_s),
        "gathered_share": transfer * numbers["small_message_share"] * (1 - 1 / _GATHERED),
        "barrier_transfer_share": sum(max(0.0, use.time_s - use.waited_s) for use in barriers) / total_s,
        "page_fault_share": min(system_s, fault_s) / total_s / on_cpu if on_cpu else 0.0,
        "joined_access_share": numbers["io_share"] * numbers["small_io_share"] * (1 - 1 / _JOINED),
        "crowded_wait_share": _crowded_wait_share(
            numbers["mpi_share"], crowding, numbers["involuntary_per_s"] / max(1e-3, numbers["cpu_use"])
        ),
        "taken_cpu_share": taken_share,
        "shared_cpu_share": 1 - 1 / sharing,
    }


def _fault_s(rank: RankRecord) -> float:
    """Return the time in which the kernel provides a page and takes it back."""
    return _TAKEN_BACK * (fact(rank, "fault_ns") / 1e9 if "fault_ns" in rank.facts else _FAULT_S)


def networks_start(version: str) -> float:
    """Return the share of MPI_Init and MPI_Finalize in which a version of a library opens networks."""
    version = version.lower()
    return next(share for library, share in _NETWORKS_START.items() if version.startswith(library))


def _repeated_faults(rank: RankRecord) -> float:
    """Return the page faults in memory that the rank had before, and had given back."""
    return max(0.0, fact(rank, "faults.minor") - fact(rank, "memory.peak_kib") / _PAGE_KIB)


def _crowded_wait_share(mpi_share: float, crowding: float, switches_per_s: float) -> float:
    """Return the share of the time that ranks save if they leave their CPUs to others while they wait.

    A fair division of the CPUs saves (1 − 1 / crowding) of the waiting, and at most all of it is saved, where
    a spinning rank uses its time slice before the rank that it waits for. Measured gains are around the
    geometric mean of both. Ranks that yield are switched more often than at the end of each slice.
    """
    saved = mpi_share * sqrt(1 - 1 / crowding) if crowding > 1 else 0.0
    return saved * (_OF_YIELDING if switches_per_s > _YIELDING_PER_S else 1.0)


def _point_to_point_transfer_s(record: Record, waiting: Waiting) -> float:
    return sum(
        max(0.0, cell.time_s - waiting.waited_s(rank, cell))
        for rank in record.ranks
        for cell in counted(rank)
        if record.function_classes.get(cell.function) in POINT_TO_POINT
    )


def _late_bytes(record: Record) -> float:
    """Return the bytes of late receives, extrapolated from the examined receives."""
    looked_at = sum(rank.receives.looked_at for rank in record.ranks)
    late_bytes = sum(rank.receives.late_bytes for rank in record.ranks)
    receives = sum(
        cell.calls
        for rank in record.ranks
        for cell in rank.cells
        if record.function_classes.get(cell.function) == "receive"
    )
    return late_bytes * max(1.0, receives / looked_at) if looked_at else 0.0


def _most_on_one_cpu(ranks: tuple[RankUse, ...]) -> float:
    """Return the largest number of ranks per CPU among ranks with the same mask; at least 1."""
    bound = Counter((rank.host, cpus) for rank in ranks if (cpus := parse_pu_list(rank.affinity)))
    return max((1.0, *(count / len(cpus) for (_, cpus), count in bound.items())))
