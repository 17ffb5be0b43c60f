"""Step markers in the output, and observation of a launch's output while it runs.

They serve programs without MPI in their loop or that cannot be preloaded into. Lines that differ in their
numbers only are of one kind. The rarest kind that is printed evenly counts the steps. If there is none, the
bytes of the output count them, as long as it grows evenly.
"""

import os
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.model.pace import (
    STDOUT,
    Crossing,
    KeyPace,
    MarkKey,
    MarkPair,
    MarksState,
    RankMarks,
    RankPace,
    RunMarks,
    RunPace,
    mark_option,
)
from mpiric.tuning.mark_choice import MarkChoice, calls_after, is_even

BYTES = MarkKey(STDOUT, "", 0, 0)
_MOST_TIMES = 64  # times kept per key
_MOST_TOKENS = 40  # tokens of a line that are compared
_NUMBER = re.compile(rb"\S*\d\S*")

# Largest relative distance of a ratio from a whole number: calls and lines end at different moments.
_OFF_WHOLE = 0.1
_LARGEST_RATIO = 1000
_SHOWN_CHARACTERS = 40  # part of a line that is printed


@dataclass(frozen=True)
class Printed:
    """Output of a run over time; times in seconds from its start."""

    seen_s: float  # end of the observation
    lines: Sequence[tuple[float, bytes]]  # time at which a line was complete, and the line without its end
    # Time at which growth of the output was observed, and its size in bytes.
    growth: Sequence[tuple[float, int]]


def kind_of_line(line: bytes) -> str:
    """Return a regular expression of the lines that differ from this one in their numbers only."""
    tokens = line.decode(errors="replace").split()
    patterns = [
        r"\S+" if any(c.isdigit() for c in token) else re.escape(token) for token in tokens[:_MOST_TOKENS]
    ]
    end = "" if len(tokens) > _MOST_TOKENS else r"\s*$"
    return r"^\s*" + r"\s+".join(patterns) + end


def printed_pace(printed: Printed, key: MarkKey | None = None) -> RunPace:
    """Return the pace of one key, or of all kinds of lines and the bytes, as if rank 0 had printed all."""
    if key is None:
        keys = (*_kinds(printed), *_bytes(printed))
    elif key.place:
        matches = line_matcher(key.place)
        keys = tuple(_thinned(key, [time_s for time_s, line in printed.lines if matches(line)]))
    else:
        keys = tuple(_bytes(printed))
    return RunPace(1, (RankPace(0, printed.seen_s, keys),))


def line_matcher(pattern: str) -> Callable[[bytes], bool]:
    """Return a function that tells whether a line contains a match of the pattern."""
    expression = re.compile(pattern)
    return lambda line: expression.search(line.decode(errors="replace")) is not None


def choose_printed(pace: RunPace) -> MarkChoice:
    """Choose the step marker from the output of one run so far."""
    (rank,) = pace.ranks
    even = [calls for calls in rank.keys if is_even(calls.times_s, calls.stride, rank.seen_s)]
    if not even:
        return MarkChoice(None, "no line is printed at regular intervals")
    lines = [calls for calls in even if calls.key.place]
    chosen = min(lines or even, key=lambda calls: (calls.calls, calls.key))
    unit = "lines" if chosen.key.place else "bytes"
    return MarkChoice(chosen.key, f"{unit} that are printed evenly, {chosen.calls} in {rank.seen_s:.3g} s")


def _kinds(printed: Printed) -> Iterator[KeyPace]:
    times: dict[str, list[float]] = {}
    kinds: dict[bytes, str] = {}
    for time_s, line in printed.lines:
        if not line.strip():
            continue
        shape = _NUMBER.sub(b"0", line)
        if shape not in kinds:
            kinds[shape] = kind_of_line(line)
        times.setdefault(kinds[shape], []).append(time_s)
    for kind, times_s in times.items():
        yield from _thinned(MarkKey(STDOUT, kind, 0, 0), times_s)


def _thinned(key: MarkKey, times: Sequence[float]) -> Iterator[KeyPace]:
    if times:
        stride = -(-len(times) // _MOST_TIMES)
        yield KeyPace(key, len(times), stride, tuple(times[::stride]))


def _bytes(printed: Printed) -> Iterator[KeyPace]:
    """Yield the pace of the bytes; a byte was printed when the output was first seen to include it."""
    ends = [size for _, size in printed.growth]
    if ends:
        stride = -(-ends[-1] // _MOST_TIMES)
        numbers = range(1, ends[-1] + 1, stride)
        times = tuple(printed.growth[bisect_left(ends, number)][0] for number in numbers)
        yield KeyPace(BYTES, ends[-1], stride, times)


def marks_per_line(marks: KeyPace, seen_s: float, printed: Printed) -> str:
    """Return the number of marks per line of an evenly printed kind, as a phrase; "" if none fits.

    For example ``4 for each line 'Time = …'``.
    """
    half_s = seen_s / 2
    calls = calls_after(marks, half_s)
    best: tuple[float, int, str] | None = None
    for kind in printed_pace(printed).ranks[0].keys:
        if not kind.key.place or not is_even(kind.times_s, kind.stride, printed.seen_s):
            continue
        # The clock of the output starts with the launch, the clock of the calls with the end of MPI_Init.
        lines = calls_after(kind, printed.seen_s - half_s)
        if not lines or not calls:
            continue
        ratio = calls / lines
        number = round(ratio) if ratio >= 1 else round(1 / ratio)
        off = abs((ratio if ratio >= 1 else 1 / ratio) / number - 1)
        if number <= _LARGEST_RATIO and off <= _OFF_WHOLE and (best is None or (off, number) < best[:2]):
            matches = line_matcher(kind.key.place)
            line = next((line for _, line in printed.lines if matches(line)), b"")
            text = " ".join(re.sub(r"\S*\d\S*", "…", line.decode(errors="replace")).split())
            shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
            phrase = f"{number} for each line {shown!r}" if ratio >= 1 else f"1 for {number} lines {shown!r}"
            best = off, number, phrase
    return best[2] if best else ""


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
                for at_s, line in self.lines[self._looked_at :]:
                    self._looked_at += 1
                    self._bytes += len(line) + 1
                    if self._matches(line):
                        self._count += 1
                        self._cross(at_s, self._count - 1, self._count)
            else:
                at_s, size = self.growth[-1]
                before, self._bytes = self._bytes, size
                self._cross(at_s, before, size)
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
