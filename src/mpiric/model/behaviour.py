"""Behaviour: what a recorded run of the program says that it does, which is what knobs are chosen by.

Numbers whose name ends in ``_bound`` are shares of a rank's time from MPI_Init to MPI_Finalize, at their
largest over the ranks: an upper bound of what can be gained there, as time in MPI is also waiting for others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from mpiric.model.profile import FileTotal

_ALIKE = 1 / 16  # a message this near to a threshold may lie on either side of it: headers count too


@dataclass(frozen=True)
class MessageSizes:
    """Messages whose sizes lie between two bounds, both included."""

    low_bytes: float
    high_bytes: float
    messages: int

    def side_of(self, threshold_bytes: float) -> float:
        """0 where all are larger, infinity where all are smaller, the threshold where it may divide them."""
        if threshold_bytes < self.low_bytes * (1 - _ALIKE):
            return 0.0
        return inf if threshold_bytes > self.high_bytes * (1 + _ALIKE) else threshold_bytes


@dataclass(frozen=True)
class CollectiveCalls:
    """Calls of one collective with about one size on communicators of one size."""

    name: str  # "allreduce"
    ranks: int
    low_bytes: int
    high_bytes: int
    calls: int  # of the rank that makes most
    bound: float  # share of a rank's time


@dataclass(frozen=True)
class Carriers:
    """Who carries messages, as far as library, settings and machine say; reaches are "node" and "network"."""

    transport: str = ""  # in the library's own words
    ucx: frozenset[str] = frozenset()  # reaches that may go through UCX
    without_messages: frozenset[str] = frozenset()  # collectives on one node that take no messages


@dataclass(frozen=True)
class Behaviour:
    """What the program does: numbers by name, and the sizes of what it sends."""

    numbers: Mapping[str, float]
    collectives: tuple[CollectiveCalls, ...] = ()
    sizes: Mapping[str, tuple[MessageSizes, ...]] = field(default_factory=dict)  # reach, or "ucx" → sizes
    carriers: Carriers = field(default_factory=Carriers)
    files: tuple[FileTotal, ...] = ()  # those below the working directory by relative paths

    def bound(self, names: Iterable[str]) -> float:
        """How much of the time several bounds allow together; 1 where one is unknown."""
        return min(1.0, sum(self.numbers.get(name, 1.0) for name in names))

    def cuts(self, reach: str, threshold_bytes: float) -> tuple[float, ...]:
        """The side of a threshold on which each size lies: equal for thresholds that do the same."""
        return tuple(size.side_of(threshold_bytes) for size in self.sizes.get(reach, ()))
