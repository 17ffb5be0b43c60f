"""Amounts, numbers and versions in text: formatting, and parsing of text of users or other programs."""

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError


def seconds(value: float) -> str:
    """Return a time with three digits in the unit that fits: ``1.53 s``, ``12.4 ms``, ``830 ns``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= scale * 0.9995:
            return (
                f"{value / scale:.3g} {unit}" if abs(value) < 1000 * scale else f"{value / scale:,.0f} {unit}"
            )
    return f"{value / 1e-9:.3g} ns" if value else "0"


def size(value: float) -> str:
    """Return a size with a binary unit: ``512 B``, ``1.5 KiB``, ``23.5 GiB``."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while abs(value) >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.3g} {units[0]}" if abs(value) < 1000 else f"{value:.0f} {units[0]}"


def counted(number: int, word: str) -> str:
    """Return a number with its noun: ``1 core``, ``2 cores``."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def share(value: float) -> str:
    """Return a share as a percentage: ``34 %``, ``3.4 %``, ``0.34 %``, and ``< 0.01 %`` below that."""
    if 0 < value < 1e-4:
        return "< 0.01 %"
    return f"{100 * value:.0f} %" if abs(value) >= 0.0995 else f"{100 * value:.2g} %"


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 30 * 86400.0


def parse_duration(text: str) -> float:
    """Return the seconds of ``90s``, ``10m``, ``1h30m``, ``2.5h`` or a plain number. Raises MpiricError."""
    compact = text.strip().lower()
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", compact, re.ASCII)
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", compact, re.ASCII):
        seconds = float(compact)
    elif parts and "".join(number + unit for number, unit in parts) == compact and len(compact) <= 40:
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    else:
        raise MpiricError(f"not a duration: {text!r}", hint="write it as 90s, 10m or 1h30m")
    if not 0 < seconds <= _LONGEST_S:
        raise MpiricError(f"a duration must be between 0 and 30 days: {text!r}", hint="for example 10m")
    return seconds


def show_duration(seconds: float) -> str:
    """Return a duration as text: ``0.31 s``, ``42 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.3g} s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min" + (f" {rounded % 60} s" if rounded % 60 else "")
    return f"{rounded // 3600} h" + (f" {rounded % 3600 // 60} min" if rounded % 3600 // 60 else "")


_COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Condition:
    """Comparison of a number with a constant."""

    number: str
    sign: str
    constant: float

    def holds(self, numbers: Mapping[str, float]) -> bool:
        """Return whether the condition holds; a missing number counts as 0."""
        return bool(_COMPARE[self.sign](numbers.get(self.number, 0.0), self.constant))


@lru_cache
def parse_condition(text: str) -> Condition:
    """Parse ``nodes >= 2``: name of a number, operator and constant. Raises ValueError."""
    number, sign, constant = text.split()
    if sign not in _COMPARE:
        raise ValueError(f"not a comparison operator: {sign!r}")
    return Condition(number, sign, float(constant))


class Quoted:
    """Number with output formats: ``%`` share, ``n`` count, ``b`` bytes, ``s`` seconds, ``x`` ratio."""

    def __init__(self, value: float) -> None:
        self._value = value

    def __format__(self, how: str) -> str:
        return _FORMS[how](self._value)


def quote(template: str, values: Mapping[str, float | str]) -> str:
    """Fill values into a sentence: ``{mpi_share:%}`` or ``{ranks:n}``, with the formats of `Quoted`.

    Texts such as ``{slow_node}`` have no format.
    """
    return template.format_map(
        {name: value if isinstance(value, str) else Quoted(value) for name, value in values.items()}
    )


_FORMS: Mapping[str, Callable[[float], str]] = {
    "%": share,
    "n": lambda value: f"{value:,.0f}",
    "b": size,
    "s": lambda value: f"{value:.3g} s",
    "x": lambda value: f"{value:.2f}",
}


_MOST_DIGITS = 9  # limit of a count
_MOST_DIGITS_OF_64_BITS = 18


def count_of(text: str) -> int:
    """Return the value of up to 9 ASCII digits, 0 for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


def number_of(text: str, otherwise: int = 0) -> int:
    """Return the value of ASCII digits that fits into 64 bits, ``otherwise`` for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS_OF_64_BITS
    return int(text) if is_number else otherwise


def version_by(pattern: str) -> Callable[[str], str | None]:
    """Return a function that returns the first group of ``pattern`` in a text, or None without a match."""
    compiled = re.compile(pattern)

    def recognise(text: str) -> str | None:
        match = compiled.search(text)
        return match[1] if match else None

    return recognise
