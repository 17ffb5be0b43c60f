"""Waiting separated from transfer, and the efficiencies of the POP model that follow.

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
"""

from collections import defaultdict
from collections.abc import Hashable

from mpiric.model.profile import Efficiencies, Profile
from mpiric.model.record import CallCell, RankRecord, Record
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
