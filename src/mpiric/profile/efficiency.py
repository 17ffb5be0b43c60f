"""Waiting separated from transfer, the efficiencies of the POP model that follow, and slow nodes.

Efficiencies (POP Centre of Excellence, "Standard Metrics for Performance Audits"):

    parallel      = mean useful time / run time        = load_balance × communication
    load_balance  = mean useful time / longest useful time
    communication = longest useful time / run time     = serialisation × transfer
    transfer      = run time on an ideal network / run time
    serialisation = longest useful time / run time on an ideal network

Useful time is time outside MPI. POP determines the ideal run time by replaying a trace; a record has none, so
that the run time less the mean transfer time of the ranks is used.

Waiting: with `MPIRIC_IMBALANCE` a barrier before each blocking collective measures it. Without it, it is
estimated: the last rank in a collective does not wait, so that the smallest mean time among the ranks is the
transfer time, and the rest of the time of a rank is waiting. If ranks are last in turn, this underestimates
the waiting. Between two ranks the shortest call of a kind is the transfer time.

Slow nodes: all ranks of one node take longer outside MPI, as they do with uneven work. The times alone cannot
tell them apart. A node is slow if its ranks execute as many instructions as the peers, or lose their CPUs
while they compute. Without hardware counters and without lost CPU time it remains open, as long as the ranks
make as many calls with as many bytes as the others; otherwise the work is uneven.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from statistics import median

from mpiric.model.profile import Efficiencies, Profile, RankUse
from mpiric.model.record import CallCell, RankRecord, Record
from mpiric.model.slow_nodes import slow_nodes
from mpiric.model.tuned import RunTimes
from mpiric.profile.cells import counted, fact, mpi_s, threads_in_mpi

MEASURED = "measured: a barrier before each blocking collective"
ESTIMATED = (
    "estimated: in a collective the rank with the smallest mean time waits for nobody; "
    "between two ranks the shortest call of a kind does not wait"
)
_BLOCKING_POINT_TO_POINT = ("send", "receive", "wait", "poll", "start")

Kind = Hashable


class Waiting:
    """Waiting time in each cell."""

    def __init__(self, record: Record) -> None:
        self._classes = record.function_classes
        self._measured = any(cell.waited_s > 0 for rank in record.ranks for cell in rank.cells)
        self._quickest: dict[Kind, float] = {}
        takers: dict[Kind, set[int]] = defaultdict(set)
        for rank in record.ranks:
            for cell in counted(rank):
                if cell.timed_calls:
                    kind = self._kind(rank, cell)
                    mean = cell.timed_s / cell.timed_calls
                    takers[kind].add(rank.rank)
                    self._quickest[kind] = min(mean, self._quickest.get(kind, mean))
        self._alone = {kind for kind, ranks in takers.items() if len(ranks) < 2}

    @property
    def method(self) -> str:
        """Return the sentence on the method for the report."""
        return MEASURED if self._measured else ESTIMATED

    def waited_s(self, rank: RankRecord, cell: CallCell) -> float:
        """Return the seconds waited in the calls of one cell, including the barrier before it."""
        if self._classes.get(cell.function) == "collective":
            if self._measured:
                return cell.waited_s
            kind = self._kind(rank, cell)
            if not cell.timed_calls or kind in self._alone:
                return 0.0
            return max(0.0, cell.time_s - cell.calls * self._quickest[kind])
        if self._classes.get(cell.function) in _BLOCKING_POINT_TO_POINT and cell.timed_calls:
            return max(0.0, cell.time_s - cell.calls * cell.shortest_s)
        return 0.0

    def _kind(self, rank: RankRecord, cell: CallCell) -> Kind:
        place: Kind = None
        if cell.communicator is not None:
            row = rank.communicators[cell.communicator]
            place = (row.members, row.ordinal, row.is_window, row.is_between)
        return (cell.function, place, cell.region, cell.size_bin)


def efficiencies(record: Record, waiting: Waiting) -> Efficiencies:
    """Return the efficiencies of the ranks with a recorded time; all 1 without such ranks."""
    timed = [rank for rank in record.ranks if rank.wall_s > 0]
    run_s = max((rank.wall_s for rank in timed), default=0.0)
    useful = [max(0.0, rank.wall_s - mpi_s(rank)) for rank in timed]
    if not run_s:
        return Efficiencies(1.0, 1.0, 1.0, 1.0, 1.0, waiting.method)
    mean, longest = sum(useful) / len(useful), max(useful)
    transfer_s = sum(_transfer_s(rank, waiting) for rank in timed) / len(timed)
    ideal_s = min(run_s, max(longest, run_s - transfer_s))
    return Efficiencies(
        parallel=mean / run_s,
        load_balance=mean / longest if longest else 1.0,
        communication=longest / run_s,
        serialisation=longest / ideal_s if ideal_s else 1.0,
        transfer=ideal_s / run_s,
        method=waiting.method,
    )


def _transfer_s(rank: RankRecord, waiting: Waiting) -> float:
    moved_s = sum(
        max(0.0, cell.time_s + cell.waited_s - waiting.waited_s(rank, cell)) for cell in counted(rank)
    )
    return moved_s / threads_in_mpi(rank)


def run_times(record: Record, profile: Profile, run_s: float, end_s: float | None = None) -> RunTimes:
    """Return the seconds of the mean rank; the parts add up to ``run_s``, the run with its launcher.

    Ranks that ended before the slowest one are assumed to have waited for it. ``end_s`` is the time after
    MPI_Finalize, if known; otherwise it counts as start-up.
    """
    count = max(1, len(record.ranks))
    waiting = Waiting(record)
    inside_s = sum(rank.wall_s for rank in record.ranks) / count
    in_mpi_s = sum(map(mpi_s, record.ranks)) / count
    waited_s = sum(
        sum(waiting.waited_s(rank, cell) for cell in counted(rank)) / threads_in_mpi(rank)
        for rank in record.ranks
    )
    waited_s = min(in_mpi_s, waited_s / count)
    outside_mpi_s = max(0.0, inside_s - in_mpi_s)
    files_s = min(outside_mpi_s, sum(rank.io_s for rank in profile.ranks) / count)
    system_s = sum(fact(rank, "time.system_us") for rank in record.ranks) / 1e6 / count
    kernel_s = min(outside_mpi_s - files_s, system_s)
    outside_s = max(0.0, run_s - profile.wall_s)
    after_s = min(outside_s, end_s) if end_s is not None else None
    return RunTimes(
        start_s=outside_s - (after_s or 0.0),
        computing_s=outside_mpi_s - files_s - kernel_s,
        waiting_s=waited_s + max(0.0, profile.wall_s - inside_s),
        moving_s=in_mpi_s - waited_s,
        kernel_s=kernel_s,
        files_s=files_s,
        end_s=after_s,
    )


_ALIKE = 0.02  # relative difference up to which calls and bytes count as equal
_NONE = dict.fromkeys(
    (
        *("slow_node_share", "slow_node_low", "slow_node_high", "slow_node_position"),
        *("slow_node_lost_s", "slow_node_others_lost_s", "slow_node_instructions", "slow_node_gain"),
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
    times = {str(node): [work_s[rank.rank] for rank in members] for node, members in by_node.items()}
    slow = next(iter(slow_nodes(times)), None)
    if slow is None:
        return _NONE
    mine = by_node[int(slow.node)]
    peers = [rank for node, members in by_node.items() if node != int(slow.node) for rank in members]
    usual_s = median(work_s[rank.rank] for rank in peers)
    if min(times[slow.node]) < usual_s * (1 + slow.share / 2):
        return _NONE  # only some ranks of the node take longer
    wall_s = max(rank.wall_s for rank in ranks)
    excess_s = median(times[slow.node]) - usual_s
    uses = {rank.rank: rank for rank in ranks}
    losses = (_lost_cpu_s(some, uses) for some in (mine, peers))
    lost = [pair for pair in zip(*losses, strict=True) if pair[0] > excess_s / 2 and pair[1] < excess_s / 4]
    own_count, others_count = (
        median(fact(rank, "counter.instructions") for rank in some) for some in (mine, peers)
    )
    instructions = own_count / others_count if others_count else 0.0
    has_same_instructions = 0 < instructions < 1 + slow.share / 4
    is_open = not instructions and len(mine) > 1 and _same_calls(mine, peers)
    return {
        "slow_node_share": slow.share,
        "slow_node_low": max(0.0, slow.low),
        "slow_node_high": slow.high,
        "slow_node_position": float(slow.node),
        "slow_node_lost_s": lost[0][0] if lost else 0.0,
        "slow_node_others_lost_s": lost[0][1] if lost else 0.0,
        "slow_node_instructions": instructions,
        "slow_node_gain": min(1.0, excess_s / wall_s),
        "slow_node_loses_cpu": float(bool(lost)),
        "slow_node_same_instructions": float(has_same_instructions and not lost),
        "slow_node_or_work": float(is_open and not lost),
    }


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
