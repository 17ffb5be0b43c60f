"""Lines of output split into a shape (constant text) and values, some of which are timings."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from mpiric.model.quoting import one_line
from mpiric.outputs import time_forms

_SPECIAL = r"(?<![\w./-])[-+]?(?:nan|inf|infinity)(?![\w./-])"
_NUMBER = r"(?:(?<![\w.)\]])[-+])?(?:\d+\.?\d*|(?<!\w)\.\d+)(?:[ed][-+]?\d+)?"
_VALUE = re.compile(
    r"(?P<path>(?<![\w.])(?:/[\w.+~@%-]+){2,}/?)"
    rf"|(?P<day>{time_forms.DAY})"
    r"|(?P<hex>\b0x[0-9a-f]+\b|\b(?=[0-9a-f-]{0,50}[0-9])(?=[0-9-]{0,50}[a-f])[0-9a-f]{8,}(?:-[0-9a-f]{4,}){0,4}\b)"
    rf"|(?P<clock>{time_forms.CLOCK})"
    rf"|(?P<maybe>{time_forms.MAYBE})"
    rf"|(?P<special>{_SPECIAL})"
    rf"|(?P<number>{_NUMBER})",
    re.IGNORECASE,
)
_PLAIN = re.compile(rf"(?P<number>{_NUMBER})", re.IGNORECASE)
_BAR = re.compile(r"(?<=[\[(|])[=#>.\-*_~+█▉▊▋▌▍▎▏░▒▓ ]{4,}(?=[\])|])")
_RUN = re.compile(r"([=#>.\-*_~+█▉▊▋▌▍▎▏░▒▓])\1{2,}|[ \t]+")
_PADDED_TIME = re.compile(
    r"(?:(?<![ \t])[ \t]+)?(\x02(?:day|clock)\x02)[ \t]*"  # "( 8h08 )", "DATE=' 4Oct2026'"
)
_UNIT = re.compile(
    r"\s*[\])]?\s*(?:%|(?:[numµk]|milli|micro|nano)?s(?:ec(?:ond)?s?)?\b(?!\s*=)|min(?:ute)?s?\b|h(?:ou)?rs?\b"
    r"|h\b|(?:clock\s+)?(?:ticks|cycles)\b|[kmgtp]?i?b(?:ytes?|its?)?\s*/\s*s|[kmgtpe]?flop/?s?\b|[mg]?ups\b|[kmg]hz\b"
    r"|\w+\s*/\s*(?:s|sec|second|day|ns|min|hour|h)\b|x faster|[kmg]i?b\b)",
    re.IGNORECASE,
)
_KEYWORD = re.compile(
    r"\b(?:time|times|timing|timings|timer|elapsed|wall|walltime|wallclock|cpu|real|user|sys|system|duration|secs?"
    r"|seconds?|rate|bandwidth|latency|throughput|speed|speedup|performance|efficiency|utili[sz]ation|usage|imbalance"
    r"|load|date|pid|eta|flops?|[mgt]flops?|[mg]ups|overhead|rss|hwm)\b|%|\w+/s(?:ec)?\b"
    r"|\w(?:latency|bandwidth|time|_[munµ]?s(?:ecs?)?|_[kmgt]b/?p?s|_[kmgt]?flops?|_[mg]ups)\b"
    r"|\w[\[(](?:i?ops|usecs?)[\])]",
    re.IGNORECASE,
)
_LIBRARY = re.compile(
    # names with versions, then the lines of MPICH's version text, then constants
    r"(?:\bopen[ _-]?mpi|\bmpich|\bmvapich\d?|\bintel(?:\(r\))? mpi)(?:[\s,:()]|library|version|v)*\x01"
    r"|\bmpich (?:version|release date|abi|device|configure|cc|cxx|f77|fc|features|custom information)\s*:"
    r"|\bmpi[ _-]?(?:library|standard)?[ _-]?(?:version|standard|v)[\s:=.(]*\x01"
    r"|tag_ub\b|\btag upper bound\b|mpi_wtick\b|mpi_wtime_is_global\b|\bmpi_max_(?:\w+_string|\w+_name)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"(\x01|\x02\w+\x02)")
_VALUE_ALONE = re.compile(r"(?<!\S)(?:\x01|\x02\w+\x02)(?!\S)")
_TIMES = ("\x02clock\x02", "\x02day\x02")
_NAME_OF_VALUE = re.compile(
    r"""["'](?P<key>[\w .-]+)["']\s*:\s*["'\[]*$|<[\w:.-]*?(?P<tag>[\w.-]+)(?:\s[^<>]*)?>\s*$"""
    r"""|\s(?P<attribute>[\w.-]+)=["']$"""
)
_OF_SEVERAL = frozenset(
    {"min", "max", "avg", "mean", "average", "median", "total", "sum", "std", "value", "seconds"}
)
_STATISTICS = _OF_SEVERAL | frozenset(
    "minimum maximum mn mx ave med count counts calls call self own excl incl exclusive inclusive children"
    " stddev stdev dev rank ranks ratio percent % cpu wall time times s sec secs ms us ns min minutes".split()
)
LONGEST_LINE = 20_000  # characters of a line that are compared


class OutputLine(NamedTuple):
    """Line of output; ``shape`` has a placeholder for each of its ``values``."""

    shape: str
    values: tuple[str, ...]


def take_apart(text: str) -> OutputLine:
    """Split a line into shape and values. The lengths of white space and bars are ignored.

    Except for a leading 0x the digits of a number do not affect the result, so that lines that differ in
    digits only are split once.
    """
    text = text[:LONGEST_LINE]
    is_cached = "0x" not in text and "0X" not in text
    shape, spans = _form(text.translate(_SAME_DIGIT)) if is_cached else _take_apart(text)
    return OutputLine(shape, tuple([text[begin:end] for begin, end in spans]))


def _take_apart(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the shape of a line, and begin and end of its values."""
    if not any(char.isdigit() for char in text) and "/" not in text and not _MAY_VARY.search(text):
        return _squeeze(text), ()
    values: list[tuple[int, int]] = []
    parts: list[str] = []
    position = 0
    while (match := _VALUE.search(text, position)) is not None:
        kind = match.lastgroup or ""
        if (kind == "maybe" and not time_forms.names_time(text[: match.start()])) or (
            kind == "clock" and ":" in match[0] and time_forms.is_size(text[: match.start()])
        ):
            match = _PLAIN.search(text, match.start())
            assert match is not None  # the text begins with a digit
            kind = "number"
        kind = "clock" if kind == "maybe" else kind
        values.append(match.span())
        placeholder = "\x01" if kind in ("number", "special") else f"\x02{kind}\x02"
        parts += [text[position : match.start()], placeholder]
        position = match.end()
    return _squeeze("".join(parts) + text[position:]), tuple(values)


_form = lru_cache(maxsize=1 << 14)(_take_apart)
_SAME_DIGIT = str.maketrans("023456789", "1" * 9)
_MAY_VARY = re.compile(rf"\b(?:mon|tue|wed|thu|fri|sat|sun)|{_SPECIAL}|[0-9a-f]{{8,}}", re.IGNORECASE)


def _squeeze(text: str) -> str:
    without_bars = _BAR.sub(lambda match: " " if match[0].isspace() else "=", text)
    without_bars = _PADDED_TIME.sub(r"\1", without_bars)
    return _RUN.sub(lambda match: match[1] * 3 if match[1] else " ", without_bars).strip()


@lru_cache(maxsize=4096)
def time_columns(shape: str) -> tuple[bool, ...]:
    """Return for each value of a shape whether it has the form of a date, a time of day or a duration."""
    return tuple(kind in _TIMES for _, kind, _ in _placeholders(shape))


@lru_cache(maxsize=4096)
def path_columns(shape: str) -> tuple[bool, ...]:
    """Return for each value of a shape whether it is a path."""
    return tuple(kind == "\x02path\x02" for _, kind, _ in _placeholders(shape))


@lru_cache(maxsize=4096)
def timing_columns(shape: str) -> tuple[bool, ...]:
    """Return for each value of a shape whether its unit or a keyword marks it as a measurement.

    A named value, as in JSON and XML, is recognised by its name only.
    """
    measurements: list[bool] = []
    for before, kind, after in _placeholders(shape):
        named = _NAME_OF_VALUE.search(before)
        name = next(filter(None, named.groups()), "") if named else ""
        context = name if name and name.lower() not in _OF_SEVERAL else before
        measurements.append(
            kind in _TIMES or _UNIT.match(after) is not None or _KEYWORD.search(context) is not None
        )
    return tuple(measurements)


@lru_cache(maxsize=4096)
def unit_columns(shape: str) -> tuple[bool, ...]:
    """Return for each value of a shape whether a unit of time, rate or share follows it."""
    return tuple(_UNIT.match(after) is not None for _, _, after in _placeholders(shape))


@lru_cache(maxsize=4096)
def describes_library(shape: str) -> bool:
    """Return whether a line is about the MPI library: its name and version, its standard, or a constant."""
    return _LIBRARY.search(shape) is not None


def _placeholders(shape: str) -> Iterator[tuple[str, str, str]]:
    """Yield each placeholder with the text before it, back to the last but one, and the text after it."""
    parts = _PLACEHOLDER.split(shape)
    for index in range(1, len(parts), 2):
        yield "".join(parts[max(0, index - 3) : index]), parts[index], parts[index + 1]


@lru_cache(maxsize=4096)
def is_table_row(shape: str) -> bool:
    """Return whether the line is a label, which may contain digits, and numbers without text after them."""
    first = _VALUE_ALONE.search(shape) or _PLACEHOLDER.search(shape)
    tail = shape[first.end() :] if first else ""
    return bool(tail) and not re.search(r"[A-Za-z]", _PLACEHOLDER.sub("", tail))


@lru_cache(maxsize=4096)
def is_timing_header(shape: str) -> bool:
    """Return whether a line may be the header of a timing table: words, one of them a keyword, no numbers."""
    return "\x01" not in shape and len(shape.split()) >= 3 and _KEYWORD.search(shape) is not None


@lru_cache(maxsize=4096)
def is_second_header(shape: str) -> bool:
    """Return whether a line may be the second line of a table's header: names of statistics or units."""
    names = re.findall(r"[a-z%]+", shape.lower())
    return bool(names) and "\x01" not in shape and _STATISTICS.issuperset(names)


@lru_cache(maxsize=4096)
def is_row_or_rule(shape: str) -> bool:
    """Return whether a line may be in a table: mostly numbers after a label, or a line of dashes."""
    first = _PLACEHOLDER.search(shape)
    if first is None:
        return not re.search(r"\w", shape)
    tail = shape[first.end() :]
    values = len(_PLACEHOLDER.findall(tail))
    return len(re.findall(r"\S*[A-Za-z]\S*", _PLACEHOLDER.sub("", tail))) <= values // 3


def is_special(value: str) -> bool:
    """Return whether a value is NaN or infinity."""
    return value.lstrip("+-").lower() in ("nan", "inf", "infinity")


def is_whole(value: str) -> bool:
    """Return whether a value is an integer."""
    return value.lstrip("+-").isdigit()


def digits(value: str) -> int:
    """Count the significant digits of a value as printed."""
    mantissa = re.split("[eEdD]", value.lstrip("+-"))[0].replace(".", "").lstrip("0")
    return len(mantissa)


def number_and_step(value: str) -> tuple[float, int] | None:
    """Return a number and the power of ten of its last digit; None for a text that is not a number."""
    if value.isascii() and value.isdigit():
        return float(value), 0
    try:
        number = float(value)
    except ValueError:
        if "d" not in value.lower():
            return None
        try:
            number = float(re.sub("[dD]", "e", value))  # Fortran's exponent
        except ValueError:
            return None
    mantissa, _, power = value.lower().replace("d", "e").partition("e")
    point = mantissa.find(".")
    decimals = len(mantissa) - point - 1 if point >= 0 else 0
    return number, max(-127, min(127, (int(power[:6]) if power else 0) - decimals))


def show(shape: str, values: tuple[str, ...] = ()) -> str:
    """Return a line to print: the shape with its values, shortened."""
    remaining = iter(values)
    spaced = re.sub(r"(?<=[\w:,])(?=\x02)|(?<=\x02)(?=[\w(])(?!\w+\x02)", " ", shape)
    text = _PLACEHOLDER.sub(lambda _: next(remaining, "#"), spaced)
    text = one_line(text)
    return text if len(text) <= 80 else text[:77] + "..."
