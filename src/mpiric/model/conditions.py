"""Conditions on derived numbers, written as data (``nodes >= 2``), and sentence templates with numbers."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from mpiric.model.amount import share, size

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


def quote(template: str, numbers: Mapping[str, float]) -> str:
    """Fill numbers into a sentence: ``{mpi_share:%}`` or ``{ranks:n}``, with the formats of `Quoted`."""
    return template.format_map({name: Quoted(value) for name, value in numbers.items()})


_FORMS: Mapping[str, Callable[[float], str]] = {
    "%": share,
    "n": lambda value: f"{value:,.0f}",
    "b": size,
    "s": lambda value: f"{value:.3g} s",
    "x": lambda value: f"{value:.2f}",
}
