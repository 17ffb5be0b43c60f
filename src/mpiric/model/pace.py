"""Pace: times of repeated MPI calls or output lines, which measure the program's progress.

Times are in seconds since the end of MPI_Init, by the clock of each rank.
"""

from dataclasses import replace

from mpiric.model.dataclass import dataclass

STDOUT = "stdout"  # function name that selects the program's output instead of MPI calls


@dataclass(frozen=True, slots=True, order=True)
class MarkKey:
    """Calls of a function at one call site, on communicators that all runs have in common.

    With the function `STDOUT`: output lines that match the regular expression ``place``, or bytes if it is
    "".
    """

    function: str  # "MPI_Allreduce"
    place: str  # "lmp+0x48f2": module and offset of the return address; "" matches any call site
    ranks: int  # size of the communicator; 0 matches any size
    birth: int  # number of communicators of this size that were created before it

    @property
    def is_printed(self) -> bool:
        """Return whether the key selects output of the launch, which needs no runtime in the ranks."""
        return self.function == STDOUT


@dataclass(frozen=True, slots=True)
class KeyPace:
    """Calls of one key on one rank: the times of the first call and of every ``stride``-th call after it."""

    key: MarkKey
    calls: int
    stride: int
    times_s: tuple[float, ...]

    def time_of(self, call: int) -> float:
        """Return the time of a call (1 to `last_timed`), interpolated between two recorded times."""
        index, offset = divmod(call - 1, self.stride)
        if offset == 0:
            return self.times_s[index]
        before, after = self.times_s[index], self.times_s[index + 1]
        return before + (after - before) * offset / self.stride

    @property
    def last_timed(self) -> int:
        """Return the number of the last call with a known time; a lower bound if several keys were merged."""
        return min(self.calls, (len(self.times_s) - 1) * self.stride + 1)


@dataclass(frozen=True, slots=True)
class RankPace:
    """Calls of all keys of one rank, and the time until which it was observed."""

    rank: int
    seen_s: float
    keys: tuple[KeyPace, ...]

    def of(self, key: MarkKey) -> KeyPace | None:
        """Return the calls of one key, None if the rank made none."""
        return next((pace for pace in self.keys if pace.key == key), None)


@dataclass(frozen=True, slots=True)
class RunPace:
    """Calls of one run; ``ranks`` are the ranks that left data, in ascending order."""

    world_size: int
    ranks: tuple[RankPace, ...]

    @property
    def first_rank(self) -> RankPace | None:
        """Return rank 0, None if it left no data."""
        return next((rank for rank in self.ranks if rank.rank == 0), None)

    def seen_until(self, seen_s: float) -> "RunPace":
        """Return a copy that ends the observation at this time or earlier."""
        ranks = tuple(replace(rank, seen_s=min(rank.seen_s, seen_s)) for rank in self.ranks)
        return replace(self, ranks=ranks)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Arrival of a rank at a mark: the time, and its collectives and sends up to then."""

    at_s: float
    calls: int
    bytes: int
