"""A run between its marks that is too slow already to be worth its end: what is known of its pace."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median

from mpiric.model.marks import MarkPair, RankMarks


@dataclass
class SlowRun:
    """Asked while a run is under way, and afterwards.

    Time counts from the moment at which all counting ranks are seen behind the first mark: later than each of
    them came there, by this host's clock alone. What has passed since is the least that each rank without the
    last mark takes from one to the other.
    """

    pair: MarkPair
    is_too_slow: Callable[[float], bool]  # of seconds per mark, when they are at least so many
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    was_stopped: bool = field(default=False, init=False)
    _since_s: float | None = field(default=None, init=False)
    _passed_s: float = field(default=0.0, init=False)

    def look(self, first: RankMarks | None, all_ranks: Callable[[], Iterable[RankMarks]]) -> bool:
        """Whether it is to be stopped now, from what rank 0 has left so far, and the others if need be."""
        if first is None or first.first is None or first.last is not None:
            return False
        if self._since_s is None:
            counting = [first] if self.pair.on_rank_0_alone else [*all_ranks()]
            if counting and all(rank.first is not None for rank in counting):
                self._since_s = self.clock()
            return False
        self._passed_s = self.clock() - self._since_s
        self.was_stopped = self.was_stopped or self.is_too_slow(self._passed_s / self._marks)
        return self.was_stopped

    def least_per_mark_s(self, ranks: Iterable[RankMarks]) -> float | None:
        """The least that the middle one of the ranks takes from mark to mark; None if nothing is known."""
        if self._since_s is None or not self._passed_s:
            return None
        counting = [rank for rank in ranks if rank.rank == 0 or not self.pair.on_rank_0_alone]
        spans = [
            rank.last.at_s - rank.first.at_s if rank.first and rank.last else self._passed_s
            for rank in counting
        ]
        return median(spans) / self._marks if spans else None

    @property
    def _marks(self) -> int:
        return self.pair.last - self.pair.first
