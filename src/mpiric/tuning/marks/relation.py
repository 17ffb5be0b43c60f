"""Relation of marks to the lines that the program prints: ``4 for each line "Time = …"``."""

import re

from mpiric.model.pace import KeyPace
from mpiric.tuning.marks.choice import calls_after
from mpiric.tuning.marks.evenness import is_even
from mpiric.tuning.marks.printed import Printed, line_matcher, printed_pace

_OFF = 0.1  # relative distance from a whole number, as calls and lines are cut off at different moments
_MOST = 1000  # marks for a line, or lines for a mark, that are worth telling
_SHOWN = 40  # characters of a line
_NUMBER = re.compile(r"\S*\d\S*")


def marks_per_line(marks: KeyPace, seen_s: float, printed: Printed) -> str:
    """Return the number of marks per line of a kind that is printed evenly, as a phrase; "" if none fits."""
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
        if number <= _MOST and off <= _OFF and (best is None or (off, number) < best[:2]):
            shown = _shown(kind.key.place, printed)
            phrase = f"{number} for each line {shown!r}" if ratio >= 1 else f"1 for {number} lines {shown!r}"
            best = off, number, phrase
    return best[2] if best else ""


def _shown(pattern: str, printed: Printed) -> str:
    """A line of a kind without its numbers."""
    matches = line_matcher(pattern)
    line = next((line for _, line in printed.lines if matches(line)), b"")
    text = " ".join(_NUMBER.sub("…", line.decode(errors="replace")).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
