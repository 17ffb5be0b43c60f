"""Separation of waiting from transfer.

With `MPIRIC_IMBALANCE` a barrier before each blocking collective measures the waiting. Without it, it is
estimated: the last rank in a collective does not wait, so that the smallest mean time among the ranks is the
transfer time, and the rest of a rank's time is waiting. If ranks are last in turn, this underestimates the
waiting. Between two ranks the shortest call of a kind is the transfer time.
"""

from collections import defaultdict
from collections.abc import Hashable

from mpiric.model.record import CallCell, RankRecord, Record
from mpiric.profile.cells import counted

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
        """A sentence for the report."""
        return MEASURED if self._measured else ESTIMATED

    def waited_s(self, rank: RankRecord, cell: CallCell) -> float:
        """Seconds waited in the calls of one cell, with the barrier before it."""
        if self._classes.get(cell.function) == "collective":
            return self._in_collective(rank, cell)
        if self._classes.get(cell.function) in _BLOCKING_POINT_TO_POINT and cell.timed_calls:
            return max(0.0, cell.time_s - cell.calls * cell.shortest_s)
        return 0.0

    def _in_collective(self, rank: RankRecord, cell: CallCell) -> float:
        if self._measured:
            return cell.waited_s
        kind = self._kind(rank, cell)
        if not cell.timed_calls or kind in self._alone:
            return 0.0
        return max(0.0, cell.time_s - cell.calls * self._quickest[kind])

    def _kind(self, rank: RankRecord, cell: CallCell) -> Kind:
        place: Kind = None
        if cell.communicator is not None:
            row = rank.communicators[cell.communicator]
            place = (row.members, row.ordinal, row.is_window, row.is_between)
        return (cell.function, place, cell.region, cell.size_bin)
