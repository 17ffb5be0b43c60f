"""Behaviour of the program in a recorded run, by which knobs are chosen.

A number whose name ends in ``_bound`` is a share of a rank's time from MPI_Init to MPI_Finalize; the
maximum over the ranks. It is an upper bound of the possible gain, because time in MPI includes waiting for
other ranks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from math import inf

from mpiric.model.dataclass import dataclass
from mpiric.model.profile import FileTotal

# Relative distance below which a message may be on either side of a threshold: headers count too.
_ALIKE = 1 / 16


@dataclass(frozen=True)
class MessageSizes:
    """Number of messages whose sizes are between two bounds (inclusive)."""

    low_bytes: float
    high_bytes: float
    messages: int

    def side_of(self, threshold_bytes: float) -> float:
        """Return 0 if all messages are larger, infinity if all are smaller, else the threshold."""
        if threshold_bytes < self.low_bytes * (1 - _ALIKE):
            return 0.0
        return inf if threshold_bytes > self.high_bytes * (1 + _ALIKE) else threshold_bytes


@dataclass(frozen=True)
class CollectiveCalls:
    """Calls of one collective with similar message sizes on communicators of one size."""

    name: str  # "allreduce"
    ranks: int
    low_bytes: int
    high_bytes: int
    calls: int  # maximum over the ranks
    bound: float  # share of a rank's time


@dataclass(frozen=True)
class Carriers:
    """Transports of the messages, derived from library, settings and machine.

    A reach is "node" or "network".
    """

    transport: str = ""  # name that the library uses
    ucx: frozenset[str] = frozenset()  # reaches whose messages may use UCX
    without_messages: frozenset[str] = frozenset()  # collectives within a node that send no messages


@dataclass(frozen=True)
class Behaviour:
    """Behaviour of the program: numbers by name, and the sizes of its messages."""

    numbers: Mapping[str, float]
    collectives: tuple[CollectiveCalls, ...] = ()
    sizes: Mapping[str, tuple[MessageSizes, ...]] = field(default_factory=dict)  # key: reach, or "ucx"
    carriers: Carriers = field(default_factory=Carriers)
    files: tuple[FileTotal, ...] = ()  # relative paths for files below the working directory

    def bound(self, names: Iterable[str]) -> float:
        """Return the sum of several bounds, at most 1; an unknown bound counts as 1."""
        return min(1.0, sum(self.numbers.get(name, 1.0) for name in names))

    def cuts(self, reach: str, threshold_bytes: float) -> tuple[float, ...]:
        """Return the side of the threshold for each message size; equal results mean equal effects."""
        return tuple(size.side_of(threshold_bytes) for size in self.sizes.get(reach, ()))
