"""Output equivalence: the parts of a program's output that every run must repeat.

They are learned from repeated runs of the original. Lines are grouped by shape (the line with placeholders
for its numbers, dates and paths). A shape that every original run printed equally often must be printed as
often again, and each of its columns with the same values in all of them must have these values again, in any
order. Parts that varied between the originals are not compared; neither are numbers that look like
measurements (a unit of time or rate after them, or a word like "elapsed" before them), because these may have
been equal by chance.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import field

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.outputs import lines
from mpiric.outputs.digest import (
    Column,
    OutputDigest,
    ShapeDigest,
    Source,
    contents_hash,
    digest,
    lines_of,
)

_TOLERANCE = 1e-9  # relative tolerance where rounding may differ
_FEW_DIGITS = 4  # values of a timing table with at most this many digits may be equal by chance
_FRACTIONS = 2  # number of fractions in a row of a timing table from which its integers are not results
_VARYING_ROWS, _VARYING_SHARE = 3, 0.25  # number and share of rows that vary in the table of a timer
_GAP = 2  # largest distance of two rows of a table, in lines
_ALARM = "error fail abort segmentation fault nan corrupt invalid mismatch killed".split()


@dataclass(frozen=True)
class Disagreement:
    """First difference of a run from the original."""

    sentence: str
    line: int = 0  # number from 1; 0 for missing output
    place: str = ""  # identifies the column, shape or file, for comparison with other runs

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class AcceptedDifferences:
    """Differences that the settings of a run may cause, so that they do not count."""

    rounding: bool = False  # numbers may differ by a relative 1e-9, or by one in the last printed digit
    # Variables that are set in this run but not in the original: lines that name one, such as
    # "OMP_NUM_THREADS is not set, using 1", are not compared.
    settings: tuple[str, ...] = ()
    rearranged: bool = False  # HDF5 files may have another layout of the same contents


NONE_ACCEPTED = AcceptedDifferences()


@dataclass(frozen=True)
class _ExpectedColumn:
    compared: bool
    values: Column
    may_be_special: bool  # an original printed NaN or infinity here


@dataclass(frozen=True)
class _ExpectedShape:
    low: int  # least and greatest number of lines in an original run
    high: int
    columns: tuple[_ExpectedColumn, ...]
    varies: bool = False  # values other than times vary
    only_measured: bool = False  # all values are measurements: the number of lines may differ


@dataclass(frozen=True)
class Expectation:
    """Expected output of every run, built by `learn`."""

    shapes: dict[str, _ExpectedShape]
    new_shapes_allowed: int  # number of unknown lines allowed, as originals print torn lines or random text
    runs: tuple[OutputDigest, ...] = field(repr=False)
    ignored: "re.Pattern[str] | None" = None  # lines that are not compared

    def compare(self, output: Source, accepted: AcceptedDifferences = NONE_ACCEPTED) -> Disagreement | None:
        """Return the first disagreement, or None."""
        names = _shapes(accepted.settings)
        if contents_hash(output) in {run.contents for run in self.runs}:
            return None
        run_digest = digest(output, self.ignored)
        new: list[tuple[int, str]] = []
        measured: set[int] = set()
        wrong: list[tuple[str, int]] = []
        for shape, entry in run_digest.shapes.items():
            if _names_one(names, shape) or (lines.describes_library(shape) and not _alarms(shape)):
                continue
            expected = self.shapes.get(shape)
            if expected is None and _is_measurement(shape, entry):
                measured.add(entry.first_line)
            elif expected is None:
                new.extend([(entry.first_line, shape)] * entry.count)
            elif (column := _wrong_column(expected, entry, accepted)) is not None:
                wrong.append((shape, column))
        if wrong:
            return min(
                (self._name_value(output, shape, column) for shape, column in wrong), key=lambda d: d.line
            )
        # New lines (number, shape) except lines without values that follow a measurement.
        unexplained, remarks = [], set(measured)
        for number, shape in sorted(new):
            if number - 1 in remarks and not lines.timing_columns(shape) and not _alarms(shape):
                remarks.add(number)
            else:
                unexplained.append((number, shape))
        return self._new_lines(unexplained) or self._counts(run_digest, names)

    def most_naming(self, settings: Collection[str]) -> int:
        """Return the greatest number of lines of an original that name one of these variables."""
        names = _shapes(settings)
        return sum(shape.high for name, shape in self.shapes.items() if _names_one(names, name))

    def widened(self, output: Source) -> "Expectation":
        """Return the expectation learned from one more run of the original."""
        return _merge((*self.runs, digest(output, self.ignored)), self.ignored)

    @property
    def varying(self) -> tuple[str, ...]:
        """Return the lines of all originals with differing values other than times and rates."""
        return tuple(lines.show(name) for name, shape in self.shapes.items() if shape.varies)

    @property
    def compares_nothing(self) -> bool:
        """Return whether the originals print something, but none of it is compared."""
        return bool(self.shapes) and not any(
            shape.low == shape.high
            and (not shape.columns or any(column.compared for column in shape.columns))
            for shape in self.shapes.values()
        )

    def _name_value(self, output: Source, shape: str, column: int) -> Disagreement:
        """Find the line with a value that the originals do not have in this column."""
        place = f"{lines.show(shape)} {column}"
        expected = self.shapes[shape].columns[column].values
        remaining = Counter(expected.numbers or ())
        last: Disagreement | None = None
        for number, text in lines_of(output):
            line = lines.take_apart(text)
            if line.shape != shape:
                continue
            value = line.values[column]
            parsed = lines.number_and_step(value)
            single = self.shapes[shape].high == 1
            how = (
                f"where the original has {expected.example}" if single else "is not what the original prints"
            )
            shown = lines.show(shape, line.values)
            last = Disagreement(f"line {number}: {value} {how}: '{shown}'", number, place)
            if parsed is None or expected.numbers is None or remaining[parsed[0]] <= 0:
                return last
            remaining[parsed[0]] -= 1
        return last or Disagreement(f"'{lines.show(shape)}' holds other values", place=place)

    def _new_lines(self, new: list[tuple[int, str]]) -> Disagreement | None:
        alarming = [entry for entry in new if _alarms(entry[1])]
        if not alarming and len(new) <= self.new_shapes_allowed:
            return None
        number, shape = min(alarming or new)
        text = lines.show(shape)
        return Disagreement(f"line {number}: the original never prints '{text}'", number, f"{text} new")

    def _counts(self, run: OutputDigest, settings: tuple[str, ...]) -> Disagreement | None:
        for shape, expected in self.shapes.items():
            if expected.only_measured or _names_one(settings, shape) or lines.describes_library(shape):
                continue
            count = run.shapes[shape].count if shape in run.shapes else 0
            if expected.low == expected.high != count:
                text = lines.show(shape)
                if count == 0:
                    return Disagreement(f"the line '{text}' is missing", place=f"{text} missing")
                sentence = f"the line '{text}' comes {count} times, {expected.low} times in the original"
                return Disagreement(sentence, place=f"{text} count")
        return None


def _shapes(settings: Collection[str]) -> tuple[str, ...]:
    return tuple(lines.take_apart(name).shape for name in settings)


def _names_one(settings: tuple[str, ...], shape: str) -> bool:
    return any(name in shape for name in settings)


def learn(outputs: Sequence[Source], ignored: "re.Pattern[str] | None" = None) -> Expectation:
    """Learn from at least two runs of the original, given as texts or as files.

    Lines in which ``ignored`` matches are not compared.
    """
    if len(outputs) < 2:
        raise MpiricError("at least two runs of the original are needed to learn which output varies")
    return _merge(tuple(digest(output, ignored) for output in outputs), ignored)


def _merge(runs: tuple[OutputDigest, ...], ignored: "re.Pattern[str] | None") -> Expectation:
    names = dict.fromkeys(shape for run in runs for shape in run.shapes)
    of_timer = _rows_of_varying_blocks(runs)
    shapes = {
        name: _expect(name, [run.shapes.get(name) for run in runs], is_in_timer=name in of_timer)
        for name in names
    }
    torn = [
        sum(
            entry.count
            for name, entry in run.shapes.items()
            if not any(name in other.shapes for other in runs if other is not run)
        )
        for run in runs
    ]
    return Expectation(shapes, 2 * max(torn), runs, ignored)


def _rows_of_varying_blocks(runs: Sequence[OutputDigest]) -> set[str]:
    """Return the rows of tables (label and numbers, line after line) in which many rows vary.

    Each function of a timer has a row of its own, whose short times may be equal in all originals by chance.
    """
    first, *later_runs = runs
    rows = [
        (entry.first_line, name)
        for name, entry in first.shapes.items()
        if entry.count == 1 and lines.is_table_row(name)
    ]
    blocks: list[list[tuple[int, str]]] = []
    for line, name in sorted(rows):
        if not blocks or line > blocks[-1][-1][0] + _GAP:
            blocks.append([])
        blocks[-1].append((line, name))
    result: set[str] = set()
    for block in blocks:
        varying = sum(
            any(
                one.hashes != other.hashes and not lines.is_whole(one.example)
                for run in later_runs
                if name in run.shapes
                for one, other in zip(first.shapes[name].columns, run.shapes[name].columns, strict=True)
            )
            for _, name in block
        )
        if varying >= max(_VARYING_ROWS, _VARYING_SHARE * len(block)):
            result.update(name for _, name in block)
    return result


def _expect(name: str, entries: list[ShapeDigest | None], *, is_in_timer: bool) -> _ExpectedShape:
    counts = [entry.count if entry else 0 for entry in entries]
    present = [entry for entry in entries if entry]
    steady = min(counts) == max(counts)
    columns = list(zip(*(entry.columns for entry in present), strict=True))
    same = [steady and len({column.hashes for column in runs}) == 1 for runs in columns]
    examples = [runs[0].example for runs in columns]
    broken = [not lines.is_whole(example) for example in examples]
    varying = sum(not equal and fraction for equal, fraction in zip(same, broken, strict=True))
    among_varying = lines.is_table_row(name) and 2 * varying >= max(1, sum(broken))
    timing_table = among_varying or is_in_timer or any(entry.timings for entry in present)
    measured = _measured(name, [runs[0] for runs in columns])
    if timing_table:
        few = [
            part and lines.digits(text) <= _FEW_DIGITS for part, text in zip(broken, examples, strict=True)
        ]
        # In a row of a timer, integers count calls, ranks and threads.
        is_timer = any(entry.calls for entry in present) and _is_timer(broken, few)
        measured = [is_known or short or is_timer for is_known, short in zip(measured, few, strict=True)]
    return _ExpectedShape(
        min(counts),
        max(counts),
        tuple(
            _ExpectedColumn(
                compared=same[i] and not measured[i],
                values=runs[0],
                may_be_special=any(column.specials for column in runs),
            )
            for i, runs in enumerate(columns)
        ),
        only_measured=bool(measured) and all(measured) and not _alarms(name),
        varies=steady
        and not timing_table
        and any(b and not s and not m for b, s, m in zip(broken, same, measured, strict=True)),
    )


def _measured(name: str, columns: Sequence[Column]) -> list[bool]:
    """Return for each column of a shape whether its values look like times, rates or shares."""
    looks, unit = lines.timing_columns(name), lines.unit_columns(name)
    times = lines.time_columns(name)
    return [
        column.is_time
        if i < len(times) and times[i]
        else i < len(looks) and ((looks[i] and not lines.is_whole(column.example)) or unit[i])
        for i, column in enumerate(columns)
    ]


def _is_timer(broken: Sequence[bool], few: Sequence[bool]) -> bool:
    """Return whether a row of a timing table has several fractions, all of them with few digits."""
    return sum(broken) >= _FRACTIONS and all(short for part, short in zip(broken, few, strict=True) if part)


def _is_measurement(name: str, entry: ShapeDigest) -> bool:
    """Return whether all values of a new line are measurements, and it has no word of alarm."""
    if not entry.columns or _alarms(name) or any(column.specials for column in entry.columns):
        return False
    if all(_measured(name, entry.columns)):
        return True
    broken = [not lines.is_whole(column.example) for column in entry.columns]
    few = [lines.digits(column.example) <= _FEW_DIGITS for column in entry.columns]
    return entry.calls and lines.is_table_row(name) and _is_timer(broken, few)


def _alarms(name: str) -> bool:
    return any(word in name.lower() for word in _ALARM)


def _wrong_column(expected: _ExpectedShape, entry: ShapeDigest, accepted: AcceptedDifferences) -> int | None:
    """Return the first column that disagrees; differing counts are reported by `_counts`."""
    for index, (column, values) in enumerate(zip(expected.columns, entry.columns, strict=True)):
        if values.specials and not column.may_be_special:
            return index
        if not column.compared or expected.low != entry.count or column.values.hashes == values.hashes:
            continue
        if column.values.is_moments and values.is_moments:
            continue  # seconds since 1970
        if not (accepted.rounding and _close(column.values, values)):
            return index
    return None


def _close(expected: Column, values: Column) -> bool:
    if expected.texts or values.texts:
        return False
    if expected.numbers is None or values.numbers is None:
        return abs(expected.total - values.total) <= _TOLERANCE * max(expected.total_size, values.total_size)
    first = sorted(zip(expected.numbers, expected.steps, strict=True))
    second = sorted(zip(values.numbers, values.steps, strict=True))
    floor = 1e-15 * max((abs(value) for value, _ in first), default=0.0)  # rounding error of sums that cancel
    return all(
        abs(a - b) <= max(_TOLERANCE * max(abs(a), abs(b)), 1.01 * 10.0 ** min(a_step, b_step), floor)
        for (a, a_step), (b, b_step) in zip(first, second, strict=True)
    )
