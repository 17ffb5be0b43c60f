"""Digest of a run's output in bounded memory: the lines of each shape, and their values column by column.

The order of lines is ignored, because ranks print independently. A column has the sum of the hashes of its
values, which does not depend on their order, and the values themselves while they are few.
"""

import os
import re
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from hashlib import blake2b
from math import isfinite
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.model.quoting import one_line
from mpiric.outputs.lines import (
    LONGEST_LINE,
    is_row_or_rule,
    is_second_header,
    is_special,
    is_timing_header,
    number_and_step,
    path_columns,
    take_apart,
    time_columns,
)
from mpiric.outputs.time_forms import can_be_time, is_time_number, without_times

_MOST_SHAPES = 20_000
_MOST_VALUES = 20_000  # values stored per column; columns with more are compared by their sums
_MOST_VALUES_IN_ALL = 2_000_000  # values stored per output
_SEPARATORS = re.compile(r"(?<=,)|(?<=;)|\s+")
_TOKENS_PER_PART = 200  # tokens per part of a line that is too long for one part
_CALLS = re.compile(r"\b(?:n?calls?|counts?)\b", re.IGNORECASE)
_OTHER_LINES = "(other lines)"
_MASK = (1 << 64) - 1  # Python's hashes are valid within this process only, and so are digests
_PART_BYTES = 1 << 20
_PARTS_AT_A_TIME = 16  # one reader of a striped file waits for one storage target at a time

Source = str | Path  # the text itself, or a file with it


@dataclass
class Column:
    """Values at one position in the lines of one shape."""

    hashes: int = 0
    numbers: "array[float] | None" = field(default_factory=lambda: array("d"))  # None for too many
    steps: "array[int]" = field(default_factory=lambda: array("b"))  # power of ten of the last digits
    total: float = 0.0
    total_size: float = 0.0
    specials: int = 0
    texts: int = 0  # number of values that are not numbers
    example: str = ""
    is_time: bool = False  # all values have the form of a time and may be one
    is_path: bool = False

    def add(self, value: str, *, keep: bool) -> None:
        """Add one value. Times in paths are ignored."""
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
    """Lines of one shape in one run."""

    count: int = 0
    columns: list[Column] = field(default_factory=list)
    first_line: int = 0
    timings: bool = False  # part of a table whose header names times or rates
    calls: bool = False  # the header of that table also names calls or counts


@dataclass
class OutputDigest:
    """Output of one run."""

    shapes: dict[str, ShapeDigest] = field(default_factory=dict)
    lines: int = 0
    contents: bytes = b""  # hash of the complete output, which decides most comparisons of large outputs


def contents_hash(source: Source) -> bytes:
    """Return the hash of an output."""
    if isinstance(source, str):
        return blake2b(source.encode("utf-8", "replace"), digest_size=16).digest()
    return file_digest(source)


def digest(source: Source, ignored: "re.Pattern[str] | None" = None) -> OutputDigest:
    """Read an output once, in bounded memory. Lines in which ``ignored`` matches are skipped."""
    result, count = OutputDigest(contents=contents_hash(source)), 0
    in_header = in_table = counts_calls = False
    for number, text in lines_of(source):
        result.lines = number
        if not text.strip() or (ignored is not None and ignored.search(text)):
            continue
        line = take_apart(text)
        shape, values = line.shape, line.values
        if shape not in result.shapes and len(result.shapes) >= _MOST_SHAPES:
            shape, values = _OTHER_LINES, (text,)
        entry = result.shapes.get(shape)
        if entry is None:
            kinds = zip(time_columns(shape), path_columns(shape), strict=True)
            columns = [Column(is_time=time, is_path=path) for time, path in kinds]
            entry = ShapeDigest(columns=columns if shape != _OTHER_LINES else [Column()], first_line=number)
            result.shapes[shape] = entry
        in_header = is_timing_header(shape) or (in_header and is_second_header(shape))
        counts_calls = (in_table and counts_calls) or (in_header and _CALLS.search(shape) is not None)
        in_table = in_header or (in_table and is_row_or_rule(shape))
        entry.timings = entry.timings or in_table
        entry.calls = entry.calls or (in_table and counts_calls)
        entry.count += 1
        count += len(values)
        for column, value in zip(entry.columns, values, strict=True):
            column.add(value, keep=count < _MOST_VALUES_IN_ALL)
    return result


def lines_of(source: Source) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; a carriage return also ends a line (progress bars), and long lines are split."""
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
            else:  # split between tokens, so that all runs are split after the same values
                tokens = _SEPARATORS.split(part)
                for at in range(0, len(tokens), _TOKENS_PER_PART):
                    yield number, " ".join(tokens[at : at + _TOKENS_PER_PART])


def file_digest(path: Path) -> bytes:
    """Return a digest of all bytes of a file; parts of a large file are read in parallel."""
    state = blake2b(digest_size=16)
    with path.open("rb", buffering=0) as file:
        for part in _parts(file.fileno(), os.fstat(file.fileno()).st_size):
            state.update(part)
    return state.digest()


def _parts(file: int, size_bytes: int) -> Iterator[bytes]:
    offsets = range(0, size_bytes, _PART_BYTES)
    if len(offsets) < 2:
        yield _part(file, 0)
        return
    with ThreadPoolExecutor(_PARTS_AT_A_TIME) as readers:
        pending: deque[Future[bytes]] = deque()
        for offset in offsets:
            pending.append(readers.submit(_part, file, offset))
            if len(pending) == _PARTS_AT_A_TIME:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _part(file: int, offset: int) -> bytes:
    """Read a part of a file, shorter only at its end."""
    part = b""
    while block := os.pread(file, _PART_BYTES - len(part), offset + len(part)):
        part += block
    return part


_NAN = re.compile(rb"(?<![\w.])[-+]?nan(\(\w*\))?(?![\w.-])", re.IGNORECASE)
_LONGEST_LINE = 1 << 16
_SHOWN_CHARACTERS = 120
_HEAD_BYTES = 4096


class NanWatch:
    """Search for the first line with a NaN in output that arrives in pieces."""

    def __init__(self) -> None:
        self.line = ""  # first line with a NaN
        self._incomplete = b""

    def feed(self, piece: bytes) -> None:
        """Search the next piece."""
        if self.line:
            return
        *lines, incomplete = (self._incomplete + piece).split(b"\n")
        self._incomplete = incomplete[-_LONGEST_LINE:]
        self.line = next((_printed_line(line) for line in lines if _NAN.search(line)), "")

    def end(self) -> str:
        """Return the first line with a NaN, ""  without one; an incomplete last line is searched too."""
        self.feed(b"\n")
        return self.line


def first_nan(path: Path) -> str:
    """Return the first line with a NaN in a file; "" without one, or if the file cannot be read."""
    watch = NanWatch()
    try:
        with path.open("rb") as file:
            while not watch.line and (piece := file.read(1 << 20)):
                watch.feed(piece)
    except OSError:
        return ""
    return watch.end()


def first_nan_of(directory: Path, names: Iterable[str], since_s: float) -> str:
    """Return name and first line with a NaN of the files that were written since ``since_s``; "" without one.

    Files with zero bytes at their beginning are not text and are skipped.
    """
    for name in names:
        path = directory / name
        try:
            with path.open("rb") as file:
                is_text = b"\0" not in file.read(_HEAD_BYTES)
            is_new = path.stat().st_mtime >= since_s
        except OSError:
            continue
        if is_text and is_new and (line := first_nan(path)):
            return f"{name}: {line}"
    return ""


def _printed_line(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return one_line(text.replace("\t", " "))[:_SHOWN_CHARACTERS]
