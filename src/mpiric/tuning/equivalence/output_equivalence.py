"""Output equivalence: what of a program's output must stay, learned from repeated runs of the original.

Lines are grouped by shape (the line with its numbers, dates and paths marked). A shape that every original
run printed equally often must come so again, and each of its columns that was the same in all of them must
hold the same values again, in any order. What varied by itself is not looked at; neither are numbers that
look like measurements (a unit of time or rate behind them, or a word like "elapsed" before them), because
those may have been equal by chance.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from mpiric.model.errors import MpiricError
from mpiric.tuning.equivalence import output_lines
from mpiric.tuning.equivalence.output_digest import (
    Column,
    OutputDigest,
    ShapeDigest,
    Source,
    contents_hash,
    digest,
    lines_of,
)

_FEW_DIGITS = 4  # a value of a timing table with no more digits may be equal by chance
_FRACTIONS = 2  # of a row of a table of times, from which on its whole numbers are no results
_ALARM = (
    "error",
    "fail",
    "abort",
    "segmentation",
    "fault",
    "nan",
    "corrupt",
    "invalid",
    "mismatch",
    "killed",
)


@dataclass(frozen=True)
class Disagreement:
    """The first thing that differs, in one sentence; ``line`` counts from 1, 0 for missing output.

    Runs that differ at one ``place`` have one line and value, or one file, that is not the original's.
    """

    sentence: str
    line: int = 0
    place: str = ""

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class _ExpectedColumn:
    compared: bool
    values: Column
    may_be_special: bool  # the originals printed NaN or infinity here


@dataclass(frozen=True)
class _ExpectedShape:
    low: int  # fewest and most lines of it in an original run
    high: int
    columns: tuple[_ExpectedColumn, ...]
    varies: bool = False  # values other than times vary
    only_measured: bool = False  # all its values are measurements: lines of it may come and go


@dataclass(frozen=True)
class Expectation:
    """What every run must print. Made by `learn`."""

    shapes: dict[str, _ExpectedShape]
    new_shapes_allowed: int  # originals tear lines apart or print random words: so many lines may be new
    runs: tuple[OutputDigest, ...] = field(repr=False)
    ignored: "re.Pattern[str] | None" = None  # lines that are not compared

    def compare(
        self,
        output: Source,
        *,
        rounding: bool = False,
        tolerance: float = 1e-9,
        settings: Collection[str] = (),
    ) -> Disagreement | None:
        """The first disagreement, or None.

        ``rounding`` allows numbers to differ by ``tolerance``, relative, or by one in the last digit printed.
        ``settings`` are variables that this run was given and the original was not: lines that name one, such
        as "OMP_NUM_THREADS is not set, using 1", may come, go and change.
        """
        names = _shapes(settings)
        if contents_hash(output) in {run.contents for run in self.runs}:
            return None
        found = digest(output, self.ignored)
        new: list[tuple[int, str]] = []
        measured: set[int] = set()
        wrong: list[tuple[str, int]] = []
        for shape, entry in found.shapes.items():
            if _names_one(names, shape):
                continue
            expected = self.shapes.get(shape)
            if expected is None and _is_measurement(shape, entry):
                measured.add(entry.first_line)
            elif expected is None:
                new.extend([(entry.first_line, shape)] * entry.count)
            elif (column := _wrong_column(expected, entry, rounding, tolerance)) is not None:
                wrong.append((shape, column))
        if wrong:
            return min(
                (self._name_value(output, shape, column) for shape, column in wrong), key=lambda d: d.line
            )
        return self._new_lines(_without_remarks(new, measured)) or self._counts(found, names)

    def most_naming(self, settings: Collection[str]) -> int:
        """How many lines of an original name one of these variables, at most."""
        names = _shapes(settings)
        return sum(shape.high for name, shape in self.shapes.items() if _names_one(names, name))

    def widened(self, output: Source) -> "Expectation":
        """Learn from one more run of the original, after it disagreed."""
        return _merge((*self.runs, digest(output, self.ignored)), self.ignored)

    @property
    def varying(self) -> tuple[str, ...]:
        """Lines that came in every original with values that differed, times and rates left aside."""
        return tuple(output_lines.show(name) for name, shape in self.shapes.items() if shape.varies)

    @property
    def compares_nothing(self) -> bool:
        """Return whether the originals print something but nothing of it is compared."""
        return bool(self.shapes) and not any(
            shape.low == shape.high
            and (not shape.columns or any(column.compared for column in shape.columns))
            for shape in self.shapes.values()
        )

    def _name_value(self, output: Source, shape: str, column: int) -> Disagreement:
        """Find the line that holds a value the originals do not have in this column."""
        place = f"{output_lines.show(shape)} {column}"
        known = self.shapes[shape].columns[column].values
        left = Counter(known.numbers or ())
        last: Disagreement | None = None
        for number, text in lines_of(output):
            line = output_lines.take_apart(text)
            if line.shape != shape:
                continue
            value = line.values[column]
            parsed = output_lines.number_and_step(value)
            single = self.shapes[shape].high == 1
            how = f"where the original has {known.example}" if single else "is not what the original prints"
            shown = output_lines.show(shape, line.values)
            last = Disagreement(f"line {number}: {value} {how}: '{shown}'", number, place)
            if parsed is None or known.numbers is None or left[parsed[0]] <= 0:
                return last
            left[parsed[0]] -= 1
        return last or Disagreement(f"'{output_lines.show(shape)}' holds other values", place=place)

    def _new_lines(self, new: list[tuple[int, str]]) -> Disagreement | None:
        alarming = [entry for entry in new if _alarms(entry[1])]
        if not alarming and len(new) <= self.new_shapes_allowed:
            return None
        number, shape = min(alarming or new)
        text = output_lines.show(shape)
        return Disagreement(f"line {number}: the original never prints '{text}'", number, f"{text} new")

    def _counts(self, found: OutputDigest, settings: tuple[str, ...]) -> Disagreement | None:
        for shape, expected in self.shapes.items():
            if expected.only_measured or _names_one(settings, shape):
                continue
            count = found.shapes[shape].count if shape in found.shapes else 0
            if expected.low == expected.high != count:
                text = output_lines.show(shape)
                if count == 0:
                    return Disagreement(f"the line '{text}' is missing", place=f"{text} missing")
                sentence = f"the line '{text}' comes {count} times, {expected.low} times in the original"
                return Disagreement(sentence, place=f"{text} count")
        return None


def _shapes(settings: Collection[str]) -> tuple[str, ...]:
    return tuple(output_lines.take_apart(name).shape for name in settings)


def _names_one(settings: tuple[str, ...], shape: str) -> bool:
    return any(name in shape for name in settings)


def learn(outputs: Sequence[Source], ignored: "re.Pattern[str] | None" = None) -> Expectation:
    """Learn from at least two runs of the original, as texts or as files (for large ones).

    Lines in which ``ignored`` matches are not compared.
    """
    if len(outputs) < 2:
        raise MpiricError("at least two runs of the original are needed to learn what varies by itself")
    return _merge(tuple(digest(output, ignored) for output in outputs), ignored)


def _merge(runs: tuple[OutputDigest, ...], ignored: "re.Pattern[str] | None") -> Expectation:
    names = dict.fromkeys(shape for run in runs for shape in run.shapes)
    shapes = {name: _expect(name, [run.shapes.get(name) for run in runs]) for name in names}
    torn = [
        sum(entry.count for name, entry in run.shapes.items() if _only_here(name, run, runs)) for run in runs
    ]
    return Expectation(shapes, 2 * max(torn), runs, ignored)


def _only_here(name: str, run: OutputDigest, runs: tuple[OutputDigest, ...]) -> bool:
    return not any(name in other.shapes for other in runs if other is not run)


def _expect(name: str, entries: list[ShapeDigest | None]) -> _ExpectedShape:
    counts = [entry.count if entry else 0 for entry in entries]
    there = [entry for entry in entries if entry]
    steady = min(counts) == max(counts)
    columns = list(zip(*(entry.columns for entry in there), strict=True))
    same = [steady and len({column.hashes for column in runs}) == 1 for runs in columns]
    examples = [runs[0].example for runs in columns]
    broken = [not output_lines.is_whole(example) for example in examples]
    varying = sum(not equal and fraction for equal, fraction in zip(same, broken, strict=True))
    among_varying = output_lines.is_table_row(name) and 2 * varying >= max(1, sum(broken))
    timing_table = among_varying or any(entry.timings for entry in there)
    measured = _measured(name, [runs[0] for runs in columns])
    if timing_table:
        few = [
            part and output_lines.digits(text) <= _FEW_DIGITS
            for part, text in zip(broken, examples, strict=True)
        ]
        counts_calls = any(entry.calls for entry in there)
        is_timer = counts_calls and _is_timer(
            broken, few
        )  # then whole numbers count calls, ranks and threads
        measured = [known or short or is_timer for known, short in zip(measured, few, strict=True)]
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
    """Return, for each column of a shape, whether its values look like times, rates or shares."""
    looks, unit = output_lines.timing_columns(name), output_lines.unit_columns(name)
    times = output_lines.time_columns(name)
    return [
        column.is_time
        if i < len(times) and times[i]
        else i < len(looks) and ((looks[i] and not output_lines.is_whole(column.example)) or unit[i])
        for i, column in enumerate(columns)
    ]


def _is_timer(broken: Sequence[bool], few: Sequence[bool]) -> bool:
    """Return whether the fractions in a row of a table of times are several, and all of them short."""
    return sum(broken) >= _FRACTIONS and all(short for part, short in zip(broken, few, strict=True) if part)


def _is_measurement(name: str, entry: ShapeDigest) -> bool:
    """Return whether a new line has only measurements as values and is without alarm."""
    if not entry.columns or _alarms(name) or any(column.specials for column in entry.columns):
        return False
    if all(_measured(name, entry.columns)):
        return True
    broken = [not output_lines.is_whole(column.example) for column in entry.columns]
    few = [output_lines.digits(column.example) <= _FEW_DIGITS for column in entry.columns]
    return entry.calls and output_lines.is_table_row(name) and _is_timer(broken, few)


def _without_remarks(new: Sequence[tuple[int, str]], measured: set[int]) -> list[tuple[int, str]]:
    """Return new lines (number, shape) without those in words alone that continue a measurement."""
    others, remarks = [], set(measured)
    for number, shape in sorted(new):
        if number - 1 in remarks and not output_lines.timing_columns(shape) and not _alarms(shape):
            remarks.add(number)
        else:
            others.append((number, shape))
    return others


def _alarms(name: str) -> bool:
    return any(word in name.lower() for word in _ALARM)


def _wrong_column(
    expected: _ExpectedShape,
    entry: ShapeDigest,
    rounding: bool,  # noqa: FBT001
    tolerance: float,
) -> int | None:
    """The first column that disagrees; a count that differs is reported by `_counts`."""
    for index, (column, found) in enumerate(zip(expected.columns, entry.columns, strict=True)):
        if found.specials and not column.may_be_special:
            return index
        if not column.compared or expected.low != entry.count or column.values.hashes == found.hashes:
            continue
        if column.values.is_moments and found.is_moments:
            continue  # seconds since 1970
        if not (rounding and _close(column.values, found, tolerance)):
            return index
    return None


def _close(expected: Column, found: Column, tolerance: float) -> bool:
    if expected.texts or found.texts:
        return False
    if expected.numbers is None or found.numbers is None:
        return abs(expected.total - found.total) <= tolerance * max(expected.total_size, found.total_size)
    first = sorted(zip(expected.numbers, expected.steps, strict=True))
    second = sorted(zip(found.numbers, found.steps, strict=True))
    floor = 1e-15 * max((abs(value) for value, _ in first), default=0.0)  # what is left where sums cancel
    return all(
        abs(a - b) <= max(tolerance * max(abs(a), abs(b)), 1.01 * 10.0 ** min(a_step, b_step), floor)
        for (a, a_step), (b, b_step) in zip(first, second, strict=True)
    )
