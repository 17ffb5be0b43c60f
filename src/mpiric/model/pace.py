"""Pace: times of repeated MPI calls or output lines; step markers, and calls and results up to them.

Times are in seconds since the end of MPI_Init, by the clock of each rank.
"""

import re
from dataclasses import replace
from enum import Enum

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


class MarksState(str, Enum):
    """State of a rank when it last wrote its marks file."""

    RUNNING = "running"  # running, killed, or exited without MPI_Finalize
    FINALIZED = "finalized"
    ABORTED = "aborted"  # the program called MPI_Abort
    ENDED = "ended"  # rank 0 ended the run after all ranks had passed the last mark


@dataclass(frozen=True, slots=True)
class PlaceResults:
    """Results of a function at one call site on one communicator, up to the last mark."""

    key: MarkKey
    results: int
    digest: int  # digest of all results in order
    # Numbers of the latest result, up to the limit of the runtime; empty if the type is unknown.
    latest: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RankMarks:
    """Content of one rank's marks file."""

    rank: int
    state: MarksState
    flags: frozenset[str]  # names of Flag in spec/formats/marks.toml
    begin_unix_s: float  # wall clock at the start of MPI_Init
    init_s: float  # time in MPI_Init
    first: Crossing | None
    last: Crossing | None
    finalize_s: float | None  # start of MPI_Finalize
    calls: int  # number of calls of the mark's kind, up to the last mark
    stride: int
    times_s: tuple[float, ...]  # time of every `stride`-th of these calls, from the first one
    results: tuple[PlaceResults, ...]
    lost: int  # number of results that did not fit


@dataclass(frozen=True, slots=True)
class RunMarks:
    """Marks of a run; ``ranks`` are the ranks that left a file, in ascending order."""

    world_size: int
    mark: str  # requested value
    ranks: tuple[RankMarks, ...]
    runs: int = 1  # number of launches whose files are in the directory; this is the newest

    @property
    def missing(self) -> tuple[int, ...]:
        """Return the ranks of MPI_COMM_WORLD without a file."""
        present = {rank.rank for rank in self.ranks}
        return tuple(rank for rank in range(self.world_size) if rank not in present)


@dataclass(frozen=True, slots=True)
class MarkPair:
    """Two calls of the same kind, with numbers from 1, that delimit the measured part of a program."""

    key: MarkKey
    first: int
    last: int
    on_rank_0_alone: bool = False

    @property
    def option(self) -> str:
        """Return the value of MPIRIC_MARK."""
        return mark_option(self.key, self.first, self.last)


ONLY_TIMES = "main"  # value of MPIRIC_MARK that selects no call


def mark_option(key: MarkKey | None, first: int, last: int) -> str:
    """Return the value of MPIRIC_MARK for two calls with numbers from 1; without a key: only times."""
    if key is None:
        return ONLY_TIMES
    communicator = f"{key.ranks}.{key.birth}" if key.ranks else "*"
    return f"{key.function}@{key.place or '*'}@{communicator}:{first},{last}"


_OPTION = re.compile(
    r"(?P<function>MPI_\w{1,40}(?=@\*@|@[^\s@]{1,80}\+0x[0-9a-f]{1,16}@)|stdout)@(?P<place>.{1,1000})"
    r"@(?P<communicator>\*|\d{1,9}\.\d{1,9})"
    r":(?P<first>\d{1,18}),(?P<last>\d{1,18})"
)


def read_mark_option(text: str, *, on_rank_0_alone: bool = False) -> MarkPair | None:
    """Parse a value of MPIRIC_MARK as `MarkPair.option` writes it; None unless it names two calls."""
    match = _OPTION.fullmatch(text)
    if match is None or not 1 <= int(match["first"]) < int(match["last"]):
        return None
    place = "" if match["place"] == "*" else match["place"]
    ranks, _, birth = (
        "0.0".partition(".") if match["communicator"] == "*" else match["communicator"].partition(".")
    )
    key = MarkKey(match["function"], place, int(ranks), int(birth))
    return MarkPair(key, int(match["first"]), int(match["last"]), on_rank_0_alone)
