"""One run's output in bounded memory: for each line shape how often it came, and its values column by column.

The order of lines is left out, because ranks print when they get to it. Of each column there is a sum of the
hashes of its values (equal for the same values in any order) and the values themselves while they are few.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from math import isfinite
from pathlib import Path

from mpiric.tuning.equivalence.file_digest import file_digest
from mpiric.tuning.equivalence.output_lines import (
    LONGEST_LINE,
    is_row_or_rule,
    is_special,
    is_timing_header,
    number_and_step,
    path_columns,
    take_apart,
    time_columns,
)
from mpiric.tuning.equivalence.time_forms import can_be_time, is_time_number, without_times

_MOST_SHAPES = 20_000
_MOST_VALUES = 20_000  # kept of one column; beyond, sums stand for them
_MOST_KEPT = 2_000_000  # values kept of one output in all
_SEPARATORS = re.compile(r"(?<=,)|(?<=;)|\s+")
_WORDS_OF_A_PART = 200  # words per part of a line that is too long for one part
_CALLS = re.compile(r"\b(?:n?calls?|counts?)\b", re.IGNORECASE)
_OTHERS = "(other lines)"
_MASK = (1 << 64) - 1  # hashes hold within this process only, and so do digests

Source = str | Path  # the text itself, or a file with it


@dataclass
class Column:
    """The values of one place in the lines of one shape."""

    hashes: int = 0
    numbers: "array[float] | None" = field(default_factory=lambda: array("d"))  # None once there are too many
    steps: "array[int]" = field(default_factory=lambda: array("b"))  # power of ten of each one's last digit
    total: float = 0.0
    total_size: float = 0.0
    specials: int = 0
    texts: int = 0  # values that are no numbers
    example: str = ""
    is_time: bool = False  # all values have the form of a time, and may be one
    is_path: bool = False

    def add(self, value: str, *, keep: bool) -> None:
        """Enter one value. In paths the time at which they were made does not count."""
        self.hashes = (self.hashes + hash(without_times(value) if self.is_path else value)) & _MASK
        self.example = self.example or value
        if self.is_time and not can_be_time(value):
            self.is_time = False
        parsed = number_and_step(value)
        if parsed is None or not isfinite(parsed[0]):
            self.specials += is_special(value)
            self.texts += 1
            return
        number, step = parsed
        self.total += number
        self.total_size += abs(number)
        if self.numbers is not None:
            if keep and len(self.numbers) < _MOST_VALUES:
                self.numbers.append(number)
                self.steps.append(step)
            else:
                self.numbers, self.steps = None, array("b")

    @property
    def is_moments(self) -> bool:
        """Return whether all values are numbers that encode recent times."""
        return not self.texts and bool(self.numbers) and all(map(is_time_number, self.numbers or ()))


@dataclass
class ShapeDigest:
    """All lines of one shape in one run."""

    count: int = 0
    columns: list[Column] = field(default_factory=list)
    first_line: int = 0
    timings: bool = False  # came in a table whose header names times or rates
    calls: bool = False  # in such a table with calls or counts in its header


@dataclass
class OutputDigest:
    """One run's output."""

    shapes: dict[str, ShapeDigest] = field(default_factory=dict)
    lines: int = 0
    contents: bytes = b""  # hash of the whole: most comparisons of large outputs end with it


def contents_hash(source: Source) -> bytes:
    """Hash of an output, at the speed of the disk."""
    if isinstance(source, str):
        return blake2b(source.encode("utf-8", "replace"), digest_size=16).digest()
    return file_digest(source)


def digest(source: Source, ignored: "re.Pattern[str] | None" = None) -> OutputDigest:
    """Read an output once; memory does not grow with its size beyond fixed bounds.

    Lines in which ``ignored`` matches are left out.
    """
    result, kept = OutputDigest(contents=contents_hash(source)), 0
    in_table = counts_calls = False
    for number, text in lines_of(source):
        result.lines = number
        if not text.strip() or (ignored is not None and ignored.search(text)):
            continue
        line = take_apart(text)
        shape, values = line.shape, line.values
        if shape not in result.shapes and len(result.shapes) >= _MOST_SHAPES:
            shape, values = _OTHERS, (text,)
        entry = result.shapes.get(shape)
        if entry is None:
            kinds = zip(time_columns(shape), path_columns(shape), strict=True)
            columns = [Column(is_time=time, is_path=path) for time, path in kinds]
            entry = ShapeDigest(columns=columns if shape != _OTHERS else [Column()], first_line=number)
            result.shapes[shape] = entry
        is_header = is_timing_header(shape)
        counts_calls = (in_table and counts_calls) or (is_header and _CALLS.search(shape) is not None)
        in_table = is_header or (in_table and is_row_or_rule(shape))
        entry.timings = entry.timings or in_table
        entry.calls = entry.calls or (in_table and counts_calls)
        entry.count += 1
        kept += len(values)
        for column, value in zip(entry.columns, values, strict=True):
            column.add(value, keep=kept < _MOST_KEPT)
    return result


def lines_of(source: Source) -> Iterator[tuple[int, str]]:
    """Numbered lines; a carriage return ends one too (progress bars), and endless lines are cut."""
    if isinstance(source, str):
        yield from _split(source.splitlines())
        return
    with source.open("r", encoding="utf-8", errors="replace", newline="\n") as file:
        yield from _split(iter(lambda: file.readline(1 << 20), ""))


def _split(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        for part in line.rstrip("\r\n").split("\r"):
            if len(part) <= LONGEST_LINE:
                yield number, part
            else:  # cut behind the same values in every run, however long these are
                tokens = _SEPARATORS.split(part)
                for at in range(0, len(tokens), _WORDS_OF_A_PART):
                    yield number, " ".join(tokens[at : at + _WORDS_OF_A_PART])
