"""Marks of programs without MPI in their loop, or whose ranks nothing can be loaded into: what they print.

Lines alike but for their numbers are of one kind; of the kinds that come evenly the rarest counts the steps.
Where none does, the bytes of the output do, as long as they come evenly.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mpiric.model.pace import STDOUT, KeyPace, MarkKey, RankPace, RunPace
from mpiric.tuning.marks.choice import MarkChoice
from mpiric.tuning.marks.evenness import is_even

BYTES = MarkKey(STDOUT, "", 0, 0)
_KEPT = 64  # times of a key
_MOST_WORDS = 40  # of a line that are looked at
_NUMBER = re.compile(rb"\S*\d\S*")


@dataclass(frozen=True)
class Printed:
    """What a run has printed by when; times in seconds from its start."""

    seen_s: float
    lines: Sequence[tuple[float, bytes]]  # when a whole line was there, and the line without its end
    growth: Sequence[tuple[float, int]]  # when the output was seen to have grown, and to how many bytes


def kind_of_line(line: bytes) -> str:
    """Regular expression of the lines that differ from this one in their numbers only."""
    words = line.decode(errors="replace").split()
    alike = [r"\S+" if any(c.isdigit() for c in word) else re.escape(word) for word in words[:_MOST_WORDS]]
    rest = "" if len(words) > _MOST_WORDS else r"\s*$"
    return r"^\s*" + r"\s+".join(alike) + rest


def printed_pace(printed: Printed, key: MarkKey | None = None) -> RunPace:
    """The kinds of lines of a run, and its bytes, as if rank 0 had printed them all; or the key's alone."""
    if key is None:
        keys = (*_kinds(printed), *_bytes(printed))
    elif key.place:
        matches = line_matcher(key.place)
        keys = tuple(_thinned(key, [time_s for time_s, line in printed.lines if matches(line)]))
    else:
        keys = tuple(_bytes(printed))
    return RunPace(1, (RankPace(0, printed.seen_s, keys),))


def line_matcher(pattern: str) -> Callable[[bytes], bool]:
    """Whether a line matches a pattern."""
    expression = re.compile(pattern)
    return lambda line: expression.search(line.decode(errors="replace")) is not None


def choose_printed(pace: RunPace) -> MarkChoice:
    """Choose from what one run has printed so far."""
    (rank,) = pace.ranks
    even = [each for each in rank.keys if is_even(each.times_s, each.stride, rank.seen_s)]
    if not even:
        return MarkChoice(None, "nothing that it prints comes evenly")
    lines = [each for each in even if each.key.place]
    chosen = min(lines or even, key=lambda each: (each.calls, each.key))
    what = "lines" if chosen.key.place else "bytes"
    return MarkChoice(chosen.key, f"{what} that are printed evenly, {chosen.calls} in {rank.seen_s:.3g} s")


def _kinds(printed: Printed) -> Iterator[KeyPace]:
    """Lines alike but for their numbers, by kind."""
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
        stride = -(-len(times) // _KEPT)
        yield KeyPace(key, len(times), stride, tuple(times[::stride]))


def _bytes(printed: Printed) -> Iterator[KeyPace]:
    """The bytes of the output, each of which came when the output was seen to have grown beyond it."""
    ends = [size for _, size in printed.growth]
    if ends:
        stride = -(-ends[-1] // _KEPT)
        numbers = range(1, ends[-1] + 1, stride)
        times = tuple(printed.growth[bisect_left(ends, number)][0] for number in numbers)
        yield KeyPace(BYTES, ends[-1], stride, times)
