"""Marks of one run: when its ranks came to two calls of one kind, and what they had called and got by then.

Times in seconds from the end of MPI_Init, by each rank's own clock.
"""

import re
from dataclasses import dataclass
from enum import Enum

from mpiric.model.pace import Crossing, MarkKey


class MarksState(str, Enum):
    """How a rank left its marks file."""

    RUNNING = "running"  # it runs, was killed, or left without MPI_Finalize
    FINALIZED = "finalized"
    ABORTED = "aborted"  # by the program's own MPI_Abort
    ENDED = "ended"  # rank 0, which has ended the run after all ranks had passed the last mark


@dataclass(frozen=True, slots=True)
class PlaceResults:
    """Results of one function from one place on one communicator, up to the last mark."""

    key: MarkKey
    results: int
    digest: int  # of all of them in their order
    latest: tuple[
        float, ...
    ]  # numbers of the latest, as far as they are kept; empty when its type is not known


@dataclass(frozen=True, slots=True)
class RankMarks:
    """One rank's marks file."""

    rank: int
    state: MarksState
    flags: frozenset[str]  # spec/formats/marks.toml, Flag
    begin_unix_s: float  # wall clock when MPI_Init was entered
    init_s: float  # time in MPI_Init
    first: Crossing | None
    last: Crossing | None
    finalize_s: float | None  # when MPI_Finalize was entered
    calls: int  # of the mark's kind, up to the last mark
    stride: int
    times_s: tuple[float, ...]  # of every `stride`-th of these calls, from the first on
    results: tuple[PlaceResults, ...]
    lost: int  # results that found no room


@dataclass(frozen=True, slots=True)
class RunMarks:
    """One run; ``ranks`` are those that left a file, in order of their numbers."""

    world_size: int
    mark: str  # as it was asked for
    ranks: tuple[RankMarks, ...]
    runs: int = 1  # launches that left files beside one another; this is the newest

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the world that left no file."""
        present = {rank.rank for rank in self.ranks}
        return tuple(rank for rank in range(self.world_size) if rank not in present)


@dataclass(frozen=True, slots=True)
class MarkPair:
    """Two calls of one kind, by their numbers from 1, between which runs of a program are compared."""

    key: MarkKey
    first: int
    last: int
    on_rank_0_alone: bool = False

    @property
    def option(self) -> str:
        """Value of MPIRIC_MARK."""
        return mark_option(self.key, self.first, self.last)


ONLY_TIMES = "main"  # MPIRIC_MARK that names no call


def mark_option(key: MarkKey | None, first: int, last: int) -> str:
    """Value of MPIRIC_MARK for two calls of a key by their numbers from 1; without a key for times alone."""
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
    """Read a value of MPIRIC_MARK as `MarkPair.option` writes it; None for what names no two calls."""
    found = _OPTION.fullmatch(text)
    if found is None or not 1 <= int(found["first"]) < int(found["last"]):
        return None
    place = "" if found["place"] == "*" else found["place"]
    ranks, _, birth = (
        "0.0".partition(".") if found["communicator"] == "*" else found["communicator"].partition(".")
    )
    key = MarkKey(found["function"], place, int(ranks), int(birth))
    return MarkPair(key, int(found["first"]), int(found["last"]), on_rank_0_alone)
