"""A line of output taken apart: its shape (what stays), its values (what may vary), and which are timings."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from mpiric.tuning.equivalence import time_forms

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
    r"(?:(?<![ \t])[ \t]+)?(\x02(?:day|clock)\x02)[ \t]*"
)  # "( 8h08 )", "DATE=' 4Oct2026'"
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
_MARK = re.compile(r"(\x01|\x02\w+\x02)")
_TIMES = ("\x02clock\x02", "\x02day\x02")
_NAME_OF_VALUE = re.compile(
    r"""["'](?P<key>[\w .-]+)["']\s*:\s*["'\[]*$|<[\w:.-]*?(?P<tag>[\w.-]+)(?:\s[^<>]*)?>\s*$"""
    r"""|\s(?P<attribute>[\w.-]+)=["']$"""
)
_OF_SEVERAL = frozenset(
    {"min", "max", "avg", "mean", "average", "median", "total", "sum", "std", "value", "seconds"}
)
LONGEST_LINE = 20_000  # characters of a line that are looked at


class OutputLine(NamedTuple):
    """A line of output; ``shape`` has a mark for each of its ``values``."""

    shape: str
    values: tuple[str, ...]


def take_apart(text: str) -> OutputLine:
    """Split a line into shape and values. White space and bars count by kind, not by length.

    Which digits a number has decides nothing but where 0x begins one: lines that differ in digits alone
    are taken apart once.
    """
    text = text[:LONGEST_LINE]
    is_kept = "0x" not in text and "0X" not in text
    form = _form(text.translate(_SAME_DIGIT)) if is_kept else _take_apart(text)
    return OutputLine(form.shape, tuple([text[begin:end] for begin, end in form.values]))


class _Form(NamedTuple):
    """The shape of a line, and where in it its values are."""

    shape: str
    values: tuple[tuple[int, int], ...]


def _take_apart(text: str) -> _Form:
    if not any(char.isdigit() for char in text) and "/" not in text and not _MAY_VARY.search(text):
        return _Form(_squeeze(text), ())
    values: list[tuple[int, int]] = []
    parts: list[str] = []
    position = 0
    while (match := _VALUE.search(text, position)) is not None:
        kind = match.lastgroup or ""
        if (kind == "maybe" and not time_forms.speaks_of_time(text[: match.start()])) or (
            kind == "clock" and ":" in match[0] and time_forms.is_size(text[: match.start()])
        ):
            match = _PLAIN.search(text, match.start())
            assert match is not None  # each of these forms begins with a digit
            kind = "number"
        kind = "clock" if kind == "maybe" else kind
        values.append(match.span())
        mark = "\x01" if kind in ("number", "special") else f"\x02{kind}\x02"
        parts += [text[position : match.start()], mark]
        position = match.end()
    return _Form(_squeeze("".join(parts) + text[position:]), tuple(values))


_form = lru_cache(maxsize=1 << 14)(_take_apart)
_SAME_DIGIT = str.maketrans("023456789", "1" * 9)
_MAY_VARY = re.compile(rf"\b(?:mon|tue|wed|thu|fri|sat|sun)|{_SPECIAL}|[0-9a-f]{{8,}}", re.IGNORECASE)


def _squeeze(text: str) -> str:
    without_bars = _BAR.sub(lambda match: " " if match[0].isspace() else "=", text)
    without_bars = _PADDED_TIME.sub(r"\1", without_bars)
    return _RUN.sub(lambda match: match[1] * 3 if match[1] else " ", without_bars).strip()


@lru_cache(maxsize=4096)
def time_columns(shape: str) -> tuple[bool, ...]:
    """Return, for each value of a shape, whether it has the form of a date, a time of day or a duration."""
    return tuple(mark in _TIMES for _, mark, _ in _marks(shape))


@lru_cache(maxsize=4096)
def path_columns(shape: str) -> tuple[bool, ...]:
    """Return, for each value of a shape, whether it is a path."""
    return tuple(mark == "\x02path\x02" for _, mark, _ in _marks(shape))


@lru_cache(maxsize=4096)
def timing_columns(shape: str) -> tuple[bool, ...]:
    """Return, for each value of a shape, whether unit or keyword make it look like a measurement.

    A value with a name of its own, as in JSON and XML, is recognised by this name alone.
    """
    measurements: list[bool] = []
    for before, mark, after in _marks(shape):
        named = _NAME_OF_VALUE.search(before)
        name = next(filter(None, named.groups()), "") if named else ""
        context = name if name and name.lower() not in _OF_SEVERAL else before
        measurements.append(
            mark in _TIMES or _UNIT.match(after) is not None or _KEYWORD.search(context) is not None
        )
    return tuple(measurements)


@lru_cache(maxsize=4096)
def unit_columns(shape: str) -> tuple[bool, ...]:
    """Whether a unit of time, rate or share is written right behind a value, for each value of a shape."""
    return tuple(_UNIT.match(after) is not None for _, _, after in _marks(shape))


def _marks(shape: str) -> Iterator[tuple[str, str, str]]:
    """Each mark of a shape, with the text before it (and before the mark before it) and behind it."""
    parts = _MARK.split(shape)
    for index in range(1, len(parts), 2):
        yield "".join(parts[max(0, index - 3) : index]), parts[index], parts[index + 1]


@lru_cache(maxsize=4096)
def is_table_row(shape: str) -> bool:
    """Whether no words follow the first value: a label and a row of numbers."""
    _, mark, *rest = [*_MARK.split(shape, maxsplit=1), ""]
    return bool(mark and rest[0]) and not re.search(r"[A-Za-z]", _MARK.sub("", rest[0]))


@lru_cache(maxsize=4096)
def is_timing_header(shape: str) -> bool:
    """Whether a line may head a table of times or rates: words, one of them of these, and no numbers."""
    return "\x01" not in shape and len(shape.split()) >= 3 and _KEYWORD.search(shape) is not None


@lru_cache(maxsize=4096)
def is_row_or_rule(shape: str) -> bool:
    """Whether a line may stand in a table: mostly numbers after a label, or a line of dashes."""
    first = _MARK.search(shape)
    if first is None:
        return not re.search(r"\w", shape)
    rest = shape[first.end() :]
    values = len(_MARK.findall(rest))
    return len(re.findall(r"[A-Za-z]+", _MARK.sub("", rest))) <= values // 3


def is_special(value: str) -> bool:
    """Whether a value is not-a-number or infinity."""
    return value.lstrip("+-").lower() in ("nan", "inf", "infinity")


def is_whole(value: str) -> bool:
    """Whether a value is digits only, perhaps signed."""
    return value.lstrip("+-").isdigit()


def digits(value: str) -> int:
    """Count the significant digits of a value as written."""
    mantissa = re.split("[eEdD]", value.lstrip("+-"))[0].replace(".", "").lstrip("0")
    return len(mantissa)


def number_and_step(value: str) -> tuple[float, int] | None:
    """A number and the power of ten of its last digit; None when it is none."""
    if value.isascii() and value.isdigit():
        return float(value), 0
    try:
        number = float(value)
    except ValueError:
        if "d" not in value.lower():
            return None
        try:
            number = float(re.sub("[dD]", "e", value))  # as Fortran writes it
        except ValueError:
            return None
    mantissa, _, power = value.lower().replace("d", "e").partition("e")
    point = mantissa.find(".")
    decimals = len(mantissa) - point - 1 if point >= 0 else 0
    return number, max(-127, min(127, (int(power[:6]) if power else 0) - decimals))


def show(shape: str, values: tuple[str, ...] = ()) -> str:
    """A line for people: the shape with its values put back, shortened."""
    rest = iter(values)
    spaced = re.sub(r"(?<=[\w:,])(?=\x02)|(?<=\x02)(?=[\w(])(?!\w+\x02)", " ", shape)
    text = _MARK.sub(lambda _: next(rest, "#"), spaced)
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text if len(text) <= 80 else text[:77] + "..."
