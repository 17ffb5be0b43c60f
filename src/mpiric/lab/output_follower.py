"""Observation of a launch's output while it runs: times of its lines, and the position of the last mark."""

import os
import time
from dataclasses import field
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.model.marks import MarkPair, MarksState, RankMarks, RunMarks, mark_option
from mpiric.model.pace import Crossing, KeyPace
from mpiric.tuning.printed_marks import Printed, line_matcher, printed_pace

EVERY_S = 0.01  # interval between checks of the output's size: resolution of the lines' times
_MOST_BYTES = 64 << 20  # limit of the observed output


@dataclass
class OutputFollower:
    """Reader of the growth of a file; times are of CLOCK_MONOTONIC."""

    path: Path
    lines: list[tuple[float, bytes]] = field(default_factory=list)
    growth: list[tuple[float, int]] = field(default_factory=list)
    _partial_line: bytes = b""

    def look(self) -> bool:
        """Read the growth since the last call; return whether there was any."""
        now_s, size = time.monotonic(), self.growth[-1][1] if self.growth else 0
        try:
            if self.path.stat().st_size <= size or size >= _MOST_BYTES:
                return False
            with self.path.open("rb") as file:
                file.seek(size)
                new = file.read(_MOST_BYTES - size)
        except FileNotFoundError:
            return False  # the launch has not started yet
        *complete_lines, self._partial_line = (self._partial_line + new).split(b"\n")
        self.lines += ((now_s, line) for line in complete_lines)
        self.growth.append((now_s, size + len(new)))
        return True

    def printed(self, started_s: float, until_s: float) -> Printed:
        """Return the output between two times of CLOCK_MONOTONIC, relative to the first."""
        return Printed(
            until_s - started_s,
            [(at_s - started_s, line) for at_s, line in self.lines],
            [(at_s - started_s, size) for at_s, size in self.growth],
        )


class PairFollower(OutputFollower):
    """Reader of an output up to the second of two marks."""

    def __init__(self, path: Path, pair: MarkPair) -> None:
        super().__init__(path)
        self._pair = pair
        self._matches = line_matcher(pair.key.place)
        self._looked_at = self._count = self._bytes = 0
        self._first: Crossing | None = None
        self._last: Crossing | None = None

    def has_come(self) -> bool:
        """Return whether the output contains the last mark."""
        if self._last is None and self.look():
            if self._pair.key.place:
                self._count_lines()
            else:
                self._count_bytes()
        return self._last is not None

    def marks(self, started_ns: int) -> RunMarks:
        """Return the marks as if rank 0 had printed all output; truncate the output after the last mark."""
        self.has_come()  # reads the latest output
        started_s = started_ns / 1e9
        if self._last is not None:
            os.truncate(self.path, self._last.bytes)
        pace = printed_pace(self.printed(started_s, time.monotonic()), self._pair.key).ranks[0]
        rank = self._rank(started_s, pace.of(self._pair.key))
        return RunMarks(1, mark_option(self._pair.key, self._pair.first, self._pair.last), (rank,))

    def rank_so_far(self) -> RankMarks:
        """Return the marks reached so far, by the clock of this host."""
        return self._rank(0.0, None)

    def _rank(self, started_s: float, pace: KeyPace | None) -> RankMarks:
        return RankMarks(
            rank=0,
            state=MarksState.RUNNING if self._last is None else MarksState.ENDED,
            flags=frozenset(),
            begin_unix_s=time.time() - (time.monotonic() - started_s),
            init_s=0.0,
            first=_since(self._first, started_s),
            last=_since(self._last, started_s),
            finalize_s=None,
            calls=pace.calls if pace else 0,
            stride=pace.stride if pace else 1,
            times_s=pace.times_s if pace else (),
            results=(),
            lost=0,
        )

    def _count_lines(self) -> None:
        for at_s, line in self.lines[self._looked_at :]:
            self._looked_at += 1
            self._bytes += len(line) + 1
            if self._matches(line):
                self._count += 1
                self._cross(at_s, self._count - 1, self._count)

    def _count_bytes(self) -> None:
        at_s, size = self.growth[-1]
        before, self._bytes = self._bytes, size
        self._cross(at_s, before, size)

    def _cross(self, at_s: float, before: int, count: int) -> None:
        """Record the marks between two counts; the amount of output up to them is the work done."""
        at_line = bool(self._pair.key.place)
        if before < self._pair.first <= count:
            self._first = Crossing(at_s, self._looked_at, self._bytes if at_line else self._pair.first)
        if self._last is None and before < self._pair.last <= count:
            lines = self._looked_at if at_line else 0
            self._last = Crossing(at_s, lines, self._bytes if at_line else self._pair.last)


def _since(crossing: Crossing | None, started_s: float) -> Crossing | None:
    return crossing and Crossing(crossing.at_s - started_s, crossing.calls, crossing.bytes)
