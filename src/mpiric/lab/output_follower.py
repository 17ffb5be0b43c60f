"""Follows the output of a launch while it runs: when its lines came, and where the last mark in it ends."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.model.marks import MarkPair, MarksState, RankMarks, RunMarks, mark_option
from mpiric.model.pace import Crossing, KeyPace
from mpiric.tuning.marks.printed import Printed, line_matcher, printed_pace

EVERY_S = 0.01  # between two looks at the size of the output: what its lines' times are known to
_MOST_BYTES = 64 << 20  # of an output that is followed


@dataclass
class OutputFollower:
    """Reads what is new in a file; times are of CLOCK_MONOTONIC."""

    path: Path
    lines: list[tuple[float, bytes]] = field(default_factory=list)
    growth: list[tuple[float, int]] = field(default_factory=list)
    _rest: bytes = b""

    def look(self) -> bool:
        """Read what has come since the last look; whether something has."""
        now_s, known = time.monotonic(), self.growth[-1][1] if self.growth else 0
        try:
            if self.path.stat().st_size <= known or known >= _MOST_BYTES:
                return False
            with self.path.open("rb") as file:
                file.seek(known)
                new = file.read(_MOST_BYTES - known)
        except FileNotFoundError:
            return False  # the launch is about to be started
        *whole, self._rest = (self._rest + new).split(b"\n")
        self.lines += ((now_s, line) for line in whole)
        self.growth.append((now_s, known + len(new)))
        return True

    def printed(self, started_s: float, until_s: float) -> Printed:
        """What came between two moments of CLOCK_MONOTONIC, relative to the first."""
        return Printed(
            until_s - started_s,
            [(at_s - started_s, line) for at_s, line in self.lines],
            [(at_s - started_s, size) for at_s, size in self.growth],
        )


class PairFollower(OutputFollower):
    """Follows an output to the second of two marks in it."""

    def __init__(self, path: Path, pair: MarkPair) -> None:
        super().__init__(path)
        self._pair = pair
        self._matches = line_matcher(pair.key.place)
        self._looked_at = self._count = self._bytes = 0
        self._first: Crossing | None = None
        self._last: Crossing | None = None

    def has_come(self) -> bool:
        """Whether the last mark is in the output."""
        if self._last is None and self.look():
            if self._pair.key.place:
                self._count_lines()
            else:
                self._count_bytes()
        return self._last is not None

    def marks(self, started_ns: int) -> RunMarks:
        """What the run left, as if rank 0 had printed it all; the output is cut behind the last mark."""
        self.has_come()  # what was printed in the last moment
        started_s = started_ns / 1e9
        if self._last is not None:
            os.truncate(self.path, self._last.bytes)
        pace = printed_pace(self.printed(started_s, time.monotonic()), self._pair.key).ranks[0]
        rank = self._rank(started_s, pace.of(self._pair.key))
        return RunMarks(1, mark_option(self._pair.key, self._pair.first, self._pair.last), (rank,))

    def rank_so_far(self) -> RankMarks:
        """Which marks have come, by the clock of this host."""
        return self._rank(0.0, None)

    def _rank(self, started_s: float, kept: KeyPace | None) -> RankMarks:
        return RankMarks(
            rank=0,
            state=MarksState.RUNNING if self._last is None else MarksState.ENDED,
            flags=frozenset(),
            begin_unix_s=time.time() - (time.monotonic() - started_s),
            init_s=0.0,
            first=_since(self._first, started_s),
            last=_since(self._last, started_s),
            finalize_s=None,
            calls=kept.calls if kept else 0,
            stride=kept.stride if kept else 1,
            times_s=kept.times_s if kept else (),
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
        """Note the marks that lie between two counts; what was printed by then is the work that was done."""
        at_line = bool(self._pair.key.place)
        if before < self._pair.first <= count:
            self._first = Crossing(at_s, self._looked_at, self._bytes if at_line else self._pair.first)
        if self._last is None and before < self._pair.last <= count:
            lines = self._looked_at if at_line else 0
            self._last = Crossing(at_s, lines, self._bytes if at_line else self._pair.last)


def _since(crossing: Crossing | None, started_s: float) -> Crossing | None:
    return crossing and Crossing(crossing.at_s - started_s, crossing.calls, crossing.bytes)
