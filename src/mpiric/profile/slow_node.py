"""Numbers that separate a slow node from uneven work: all ranks of one node take longer outside MPI.

The times alone cannot tell them apart. A node is slow if its ranks execute as many instructions as the
others, or lose their CPUs while they compute. Without hardware counters and without lost CPU time it remains
open, as long as the ranks make as many calls with as many bytes as the others; otherwise the work is uneven.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from mpiric.model.profile import RankUse
from mpiric.model.record import RankRecord, Record
from mpiric.model.slow_nodes import Slowdown, slow_nodes
from mpiric.profile.cells import counted, fact

_ALIKE = 0.02  # relative difference up to which calls and bytes count as equal
_NONE = dict.fromkeys(
    (
        *("slow_node_share", "slow_node_low", "slow_node_high", "slow_node_ranks", "slow_node_position"),
        *("slow_node_cpu", "slow_node_others_cpu", "slow_node_instructions", "slow_node_gain"),
        *("slow_node_same_instructions", "slow_node_loses_cpu", "slow_node_or_work"),
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
    times = {str(node): [work_s[rank.rank] for rank in mine] for node, mine in by_node.items()}
    found = next(iter(slow_nodes(times)), None)
    if found is None:
        return _NONE
    mine = by_node[int(found.node)]
    others = [rank for node, members in by_node.items() if node != int(found.node) for rank in members]
    usual_s = median(work_s[rank.rank] for rank in others)
    if min(times[found.node]) < usual_s * (1 + found.share / 2):
        return _NONE  # only some ranks of the node take longer
    return {
        **_NONE,
        "slow_node_share": found.share,
        "slow_node_low": max(0.0, found.low),
        "slow_node_high": found.high,
        "slow_node_ranks": float(len(mine)),
        "slow_node_position": float(found.node),
        "slow_node_gain": _gain(median(times[found.node]), usual_s, ranks),
        **_causes(found, mine, others, work_s),
    }


def _gain(slow_s: float, usual_s: float, ranks: Sequence[RankUse]) -> float:
    """Return the share of the run that the others wait for the node."""
    wall_s = max(rank.wall_s for rank in ranks)
    return min(1.0, (slow_s - usual_s) / wall_s) if wall_s > 0 else 0.0


def _causes(
    found: Slowdown, mine: Sequence[RankRecord], others: Sequence[RankRecord], work_s: Mapping[int, float]
) -> dict[str, float]:
    """Return which explanation the record supports; none of them if it shows that the work is uneven."""
    part = found.share / (1 + found.share)  # share of the node's own time

    def compare(value: Callable[[RankRecord], float]) -> tuple[float, float]:
        return median(map(value, mine)), median(map(value, others))

    # Time on a CPU relative to the time outside MPI; more than 1 if ranks also wait on their CPUs.
    own_cpu, others_cpu = compare(
        lambda rank: (fact(rank, "time.user_us") + fact(rank, "time.system_us")) / 1e6 / work_s[rank.rank]
    )
    own_switches, others_switches = compare(
        lambda rank: fact(rank, "switches.involuntary") / work_s[rank.rank]
    )
    own_count, others_count = compare(lambda rank: fact(rank, "counter.instructions"))
    more_instructions = own_count / others_count if own_count and others_count else 0.0
    causes = {
        "slow_node_cpu": min(1.0, own_cpu),
        "slow_node_others_cpu": min(1.0, others_cpu),
        "slow_node_instructions": more_instructions,
    }
    is_preempted = 0 < own_cpu <= 1 - part / 2 and own_switches > max(1.0, others_switches)
    if is_preempted and others_cpu >= 1 - part / 4:
        return {**causes, "slow_node_loses_cpu": 1.0}
    if more_instructions:
        return {**causes, "slow_node_same_instructions": float(more_instructions < 1 + found.share / 4)}
    is_open = len(mine) > 1 and _same_calls(mine, others)
    return {**causes, "slow_node_or_work": float(is_open)}


def _same_calls(mine: Sequence[RankRecord], others: Sequence[RankRecord]) -> bool:
    """Return whether calls and bytes of the node's ranks are in the range of those of the others."""

    def counts(rank: RankRecord) -> tuple[int, int]:
        moved = [cell for cell in counted(rank) if cell.bytes]  # calls that poll depend on the time
        return sum(cell.calls for cell in moved), sum(cell.bytes for cell in moved)

    for own, theirs in zip(
        zip(*map(counts, mine), strict=True), zip(*map(counts, others), strict=True), strict=True
    ):
        if not min(theirs) * (1 - _ALIKE) <= median(own) <= max(theirs) * (1 + _ALIKE):
            return False
    return True
