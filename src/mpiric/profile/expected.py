"""Expected gain of advice by simple models: shares of the time of all ranks.

The ``basis`` of a rule describes its model. No model removes waiting that another rank causes.
"""

from collections import Counter
from collections.abc import Mapping

from mpiric.model.profile import CollectiveUse, RankUse
from mpiric.model.pu_set import parse_pu_list
from mpiric.model.record import Record
from mpiric.profile.cells import counted
from mpiric.profile.ranks import POINT_TO_POINT, fact
from mpiric.profile.waiting import Waiting

_COPY_BYTES_PER_S = 4e9  # a copy reads and writes, half of the bandwidth of a core
_FAULT_S = 0.5e-6  # page fault including zeroing of 4 KiB
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
    faults = sum(fact(rank, "faults.minor") for rank in record.ranks)
    crowding, sharing = numbers["ranks_per_cpu"], _most_on_one_cpu(ranks)
    return {
        "point_to_point_transfer_share": transfer,
        "late_bytes_in_all": late_bytes,
        "late_copy_share": min(numbers["point_to_point_share"], late_bytes / _COPY_BYTES_PER_S / total_s),
        "gathered_share": transfer * numbers["small_message_share"] * (1 - 1 / _GATHERED),
        "barrier_transfer_share": sum(max(0.0, use.time_s - use.waited_s) for use in barriers) / total_s,
        "page_fault_share": min(system_s, faults * _FAULT_S) / total_s,
        "joined_access_share": numbers["io_share"] * numbers["small_io_share"] * (1 - 1 / _JOINED),
        "crowded_wait_share": numbers["mpi_share"] * (1 - 1 / crowding) if crowding > 1 else 0.0,
        "taken_cpu_share": max(0.0, 1.0 - numbers["cpu_use"] - numbers["io_share"]),
        "shared_cpu_share": 1 - 1 / sharing,
    }


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


def _most_on_one_cpu(ranks: tuple[RankUse, ...]) -> int:
    """Return the largest number of ranks that are bound to a single CPU; at least 1."""
    bound = [(rank.host, cpus) for rank in ranks if len(cpus := parse_pu_list(rank.affinity)) == 1]
    return max(Counter(bound).values(), default=1)
