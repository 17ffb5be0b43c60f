"""Nodes whose ranks take longer outside MPI than the others: a slow node, or uneven work.

The times alone cannot tell them apart. The evidence of a record, in this order:

1. Its ranks lose their CPUs while they compute: the node is slow.
2. Instructions were counted: the node is slow if they are as many as elsewhere, else the work is uneven.
3. The runtime times a fixed computation in each rank at MPI_Init and at the end. The node is slow if it takes
   longer there by at least half of the slowdown, and more than the noise. The cores are as fast as the others
   if the upper limit of its slowdown is below that half: then the work is uneven.
4. Otherwise it remains open, as long as the ranks make as many calls with as many bytes as the others; if
   they do not, the work is uneven.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from mpiric.model.profile import RankUse
from mpiric.model.record import RankRecord, Record
from mpiric.model.slow_nodes import Slowdown, slow_nodes, slowdown_of
from mpiric.profile.cells import counted, fact

_ALIKE = 0.02  # relative difference up to which calls and bytes count as equal
_REFERENCE = ("reference.begin_ns", "reference.end_ns")
_NONE = dict.fromkeys(
    (
        *("slow_node_share", "slow_node_low", "slow_node_high", "slow_node_position"),
        *("slow_node_lost_s", "slow_node_others_lost_s", "slow_node_instructions", "slow_node_gain"),
        *("slow_node_reference", "slow_node_reference_low", "slow_node_reference_high"),
        *("slow_node_same_instructions", "slow_node_loses_cpu", "slow_node_slow_cores"),
        *("slow_node_more_work", "slow_node_or_work"),
    ),
    0.0,
)


def slow_node_numbers(
    record: Record, ranks: Sequence[RankUse], places: Mapping[int, int]
) -> dict[str, float]:
    """Return the slowdown of the slowest node and its possible causes; 0 if no node stands out."""
    work_s = {rank.rank: max(0.0, rank.useful_s - rank.io_s) for rank in ranks}
    by_node: dict[int, list[RankRecord]] = {}
    for rank in record.ranks:
        by_node.setdefault(places[rank.rank], []).append(rank)
    if len(by_node) < 2 or min(work_s.values()) <= 0:
        return _NONE
    times = {str(node): [work_s[rank.rank] for rank in members] for node, members in by_node.items()}
    slow = next(iter(slow_nodes(times)), None)
    if slow is None:
        return _NONE
    mine = by_node[int(slow.node)]
    peers = [rank for node, members in by_node.items() if node != int(slow.node) for rank in members]
    usual_s = median(work_s[rank.rank] for rank in peers)
    if min(times[slow.node]) < usual_s * (1 + slow.share / 2):
        return _NONE  # only some ranks of the node take longer
    excess_s = median(times[slow.node]) - usual_s
    uses = {rank.rank: rank for rank in ranks}
    losses = (_lost_cpu_s(some, uses) for some in (mine, peers))
    lost = [pair for pair in zip(*losses, strict=True) if pair[0] > excess_s / 2 and pair[1] < excess_s / 4]
    own_count, others_count = (
        median(fact(rank, "counter.instructions") for rank in some) for some in (mine, peers)
    )
    instructions = own_count / others_count if others_count else 0.0
    references = [] if lost or instructions else _references(by_node, slow.node)
    slowest = max(references, key=lambda entry: entry.share, default=None)
    has_slow_cores = slowest is not None and slowest.is_beyond_noise and slowest.share >= slow.share / 2
    has_more_work = bool(references) and all(entry.high < slow.share / 2 for entry in references)
    is_open = not (lost or instructions or has_slow_cores or has_more_work)
    return {
        "slow_node_share": slow.share,
        "slow_node_low": max(0.0, slow.low),
        "slow_node_high": slow.high,
        "slow_node_position": float(slow.node),
        "slow_node_lost_s": lost[0][0] if lost else 0.0,
        "slow_node_others_lost_s": lost[0][1] if lost else 0.0,
        "slow_node_instructions": instructions,
        "slow_node_reference": slowest.share if slowest else 0.0,
        "slow_node_reference_low": slowest.low if slowest else 0.0,
        "slow_node_reference_high": slowest.high if slowest else 0.0,
        "slow_node_gain": min(1.0, excess_s / max(rank.wall_s for rank in ranks)),
        "slow_node_loses_cpu": float(bool(lost)),
        "slow_node_same_instructions": float(0 < instructions < 1 + slow.share / 4 and not lost),
        "slow_node_slow_cores": float(has_slow_cores),
        "slow_node_more_work": float(has_more_work),
        "slow_node_or_work": float(
            is_open and (bool(references) or len(mine) > 1) and _same_calls(mine, peers)
        ),
    }


def _references(by_node: Mapping[int, Sequence[RankRecord]], node: str) -> list[Slowdown]:
    """Return the slowdown of the fixed computation on a node, at MPI_Init and at the end, where recorded."""
    slowdowns = []
    for name in _REFERENCE:
        times = {
            str(other): [value for rank in members if (value := fact(rank, name)) > 0]
            for other, members in by_node.items()
        }
        if all(times.values()):
            slowdowns.append(slowdown_of(node, times, comparisons=len(_REFERENCE)))
    return slowdowns


def _lost_cpu_s(ranks: Sequence[RankRecord], uses: Mapping[int, RankUse]) -> tuple[float, float]:
    """Return the time without a CPU, if ranks spin while they wait in MPI, and if they sleep.

    It is 0 if the record has no CPU times.
    """

    def lost_s(rank: RankRecord, *, sleeps: bool) -> float:
        on_cpu_s = (fact(rank, "time.user_us") + fact(rank, "time.system_us")) / 1e6
        use = uses[rank.rank]
        return max(0.0, use.wall_s - on_cpu_s - use.io_s - use.mpi_s * sleeps) if on_cpu_s else 0.0

    spinning, sleeping = (median(lost_s(rank, sleeps=sleeps) for rank in ranks) for sleeps in (False, True))
    return spinning, sleeping


def _same_calls(mine: Sequence[RankRecord], peers: Sequence[RankRecord]) -> bool:
    """Return whether the ranks of the node make as many calls with as many bytes as the others.

    Calls without bytes do not count, because a rank polls for as long as it waits.
    """
    return all(
        min(map(count, peers)) * (1 - _ALIKE)
        <= median(map(count, mine))
        <= max(map(count, peers)) * (1 + _ALIKE)
        for count in (_calls, _bytes)
    )


def _calls(rank: RankRecord) -> int:
    return sum(cell.calls for cell in counted(rank) if cell.bytes)


def _bytes(rank: RankRecord) -> int:
    return sum(cell.bytes for cell in counted(rank))
