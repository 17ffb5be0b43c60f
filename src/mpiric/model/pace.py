"""Pace: when a run made which calls. Repeated calls of one kind count the program's progress.

Times in seconds from the end of MPI_Init, by each rank's own clock.
"""

from dataclasses import dataclass, replace

STDOUT = "stdout"  # in the place of a function: what counts is what the program prints


@dataclass(frozen=True, slots=True, order=True)
class MarkKey:
    """Calls of one function from one place of the program on communicators that all runs have in common.

    Of the function `STDOUT`: the lines that match the regular expression ``place``, "" for its bytes.
    """

    function: str  # "MPI_Allreduce"
    place: str  # "lmp+0x48f2", module and offset of the return address; "" for calls from anywhere
    ranks: int  # of the communicator; 0 for any
    birth: int  # communicators of so many ranks that were made before it

    @property
    def is_printed(self) -> bool:
        """Whether the launch's output shows it, without anything in the ranks."""
        return self.function == STDOUT


@dataclass(frozen=True, slots=True)
class KeyPace:
    """Calls of one key on one rank: the times of its first call and of every ``stride``-th after it."""

    key: MarkKey
    calls: int
    stride: int
    times_s: tuple[float, ...]

    def time_of(self, call: int) -> float:
        """Time of a call, counted from 1; at most `last_timed`. Between two kept times it is interpolated."""
        index, rest = divmod(call - 1, self.stride)
        if rest == 0:
            return self.times_s[index]
        before, after = self.times_s[index], self.times_s[index + 1]
        return before + (after - before) * rest / self.stride

    @property
    def last_timed(self) -> int:
        """Number of the last call whose time is known; where several keys became one, as nearly as it is."""
        return min(self.calls, (len(self.times_s) - 1) * self.stride + 1)


@dataclass(frozen=True, slots=True)
class RankPace:
    """All keys of one rank, and until when it was looked at."""

    rank: int
    seen_s: float
    keys: tuple[KeyPace, ...]

    def of(self, key: MarkKey) -> KeyPace | None:
        """The calls of one key, None when the rank made none."""
        return next((pace for pace in self.keys if pace.key == key), None)


@dataclass(frozen=True, slots=True)
class RunPace:
    """One run; ``ranks`` are those that left data, in order of their numbers."""

    world_size: int
    ranks: tuple[RankPace, ...]

    @property
    def first_rank(self) -> RankPace | None:
        """Rank 0, None when it left nothing."""
        return next((rank for rank in self.ranks if rank.rank == 0), None)

    def seen_until(self, seen_s: float) -> "RunPace":
        """Return the same run, looked at no longer than until this time."""
        ranks = tuple(replace(rank, seen_s=min(rank.seen_s, seen_s)) for rank in self.ranks)
        return replace(self, ranks=ranks)


@dataclass(frozen=True, slots=True)
class Crossing:
    """A rank at a mark: when it came there, and its collectives and sends so far."""

    at_s: float
    calls: int
    bytes: int
