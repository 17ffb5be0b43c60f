"""Robust input: JSON documents of any origin → plain values → dataclasses; tables read key by key.

`CheckedTable` reads each key of a TOML table or JSON object with its type. Keys that were not read are an
error if the format demands it (`refuse_unread`).
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite
from types import UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from mpiric.model.errors import MpiricError

_T = TypeVar("_T")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST = 2**63 - 1


def parse_json(data: bytes | str, *, constants: bool = True) -> Any:
    """Parse a JSON document. Raises ValueError for any other input, also if it is nested too deeply.

    Lone surrogates become U+FFFD, because text with a surrogate can be neither printed nor written.
    Integers have at most 64 bits, so that each can be converted to a float. Without ``constants`` NaN and
    Infinity are errors.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        document = json.loads(text, parse_int=_integer, parse_constant=None if constants else _refuse)
        return _without_surrogates(document) if "\\ud" in text.lower() else document
    except RecursionError:
        raise ValueError("nested too deeply") from None


def json_lines(text: str, begin: str = "{") -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in the output of a command, one per line; skip damaged lines and other text.

    ``begin`` is the first text of an object; it may be preceded by other text on its line.
    """
    for line in text.splitlines():
        at = line.find(begin)
        if at >= 0:
            with suppress(ValueError):
                row = parse_json(line[at:])
                if isinstance(row, dict):
                    yield row


def read_fields(kind: type[_T], value: object) -> _T:
    """Return a dataclass from the JSON object of its fields; ignore additional keys of later versions.

    Raises ValueError with the name of a field that is missing or has a wrong type. Fields may be strings,
    booleans, 64-bit integers, finite numbers, enums, dataclasses, and unions and lists of these.
    """
    record: _T = _typed(kind, value, kind.__name__)
    return record


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a finite number."""
    return not isinstance(value, bool) and (
        (isinstance(value, int) and abs(value) <= _LARGEST) or (isinstance(value, float) and isfinite(value))
    )


def _integer(digits: str) -> int:
    number = int(digits)
    if not -_LARGEST - 1 <= number < 1 << 64:
        raise ValueError(f"{digits[:20]}… is not a 64-bit integer")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


@lru_cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _typed(kind: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        for kind in arguments:
            with suppress(ValueError):
                return _typed(kind, value, name)
        raise ValueError(f"{name} is of a wrong type")
    if origin is tuple and isinstance(value, list):
        kinds = (
            (arguments[0],) * len(value) if len(arguments) == 2 and arguments[1] is Ellipsis else arguments
        )
        if len(kinds) == len(value):
            return tuple(_typed(one, part, name) for one, part in zip(kinds, value, strict=True))
    if is_dataclass(kind) and isinstance(value, dict):
        return _dataclass(kind, value, name)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is float and is_number(value):
        return float(value)
    if type(value) is kind and (is_number(value) if kind is int else kind is not float):
        return value  # str, bool, int, None
    raise ValueError(f"{name} is of a wrong type")


def _dataclass(kind: Any, value: Mapping[str, Any], name: str) -> Any:
    hints = _hints(kind)
    needed = {
        attribute.name
        for attribute in fields(kind)
        if attribute.default is MISSING and attribute.default_factory is MISSING
    }
    if missing := sorted(needed - set(value)):
        raise ValueError(f"{name}.{missing[0]} is missing")
    present = [attribute.name for attribute in fields(kind) if attribute.name in value]
    return kind(**{key: _typed(hints[key], value[key], f"{name}.{key}") for key in present})


_LONGEST_TEXT = 20_000


class CheckedTable:
    """Table of a document. Errors name the file and the key."""

    def __init__(self, values: object, where: str, path: str, hint: str) -> None:
        self._where, self._path, self._hint = where, path, hint
        if not isinstance(values, dict):
            raise MpiricError(f"{where}: '{path}' must be a table", hint=hint)
        self._values: Mapping[str, object] = values
        self._read: set[str] = set()

    def error(self, key: str, problem: str) -> MpiricError:
        """Return an error about one key of this table."""
        name = ".".join(part for part in (self._path, show(key)) if part)
        return MpiricError(f"{self._where}: '{name}' {show(problem)}", hint=self._hint)

    def has(self, key: str) -> bool:
        """Return whether the key exists."""
        return key in self._values

    def refuse_unread(self) -> None:
        """Raise MpiricError for a key that was not read."""
        for key in self._values:
            if key not in self._read:
                raise self.error(key, "is not a key of this format")

    def table(self, key: str) -> "CheckedTable":
        """Read a table within this one."""
        path = f"{self._path}.{key}" if self._path else key
        return CheckedTable(self._get(key), self._where, path, self._hint)

    def tables(self, key: str, limit: int) -> tuple["CheckedTable", ...]:
        """Read a list of tables; the n-th is called ``key[n]`` in errors."""
        path = f"{self._path}.{key}" if self._path else key
        return tuple(
            CheckedTable(value, self._where, f"{path}[{index}]", self._hint)
            for index, value in enumerate(self._list(key, limit, "tables"))
        )

    def boolean(self, key: str) -> bool:
        """Read a Boolean."""
        value = self._get(key)
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def is_null(self, key: str) -> bool:
        """Return whether the value of the key is JSON's null."""
        return self._get(key) is None

    def text(self, key: str, default: str | None = None) -> str:
        """Read a string without control characters."""
        if default is not None and key not in self._values:
            return default
        return self._checked_text(key, self._get(key))

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """Read one of a fixed set of strings."""
        value = self.text(key)
        if value not in choices:
            raise self.error(key, f"must be one of {', '.join(choices)}")
        return value

    def texts(self, key: str, limit: int) -> tuple[str, ...]:
        """Read a list of strings, which may contain new lines and tabs, as arguments of a command do."""
        return tuple(
            self._checked_text(key, value, allowed="\n\t") for value in self._list(key, limit, "strings")
        )

    def text_map(self, limit: int = 500) -> dict[str, str]:
        """Read the table as a map of strings."""
        if len(self._values) > limit:
            raise MpiricError(f"{self._where}: '{self._path}' has more than {limit} entries", hint=self._hint)
        return {
            self._checked_text(key, key): self._checked_text(key, value)
            for key, value in self._values.items()
        }

    def integer(self, key: str, low: int, high: int) -> int:
        """Read an integer from ``low`` to ``high``."""
        value = self._get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(key, f"must be a whole number from {low} to {high}")
        return value

    def number(self, key: str) -> float:
        """Read a finite number."""
        value = self._number(key, self._get(key))
        if not isfinite(value):
            raise self.error(key, "must be a finite number")
        return value

    def integers(self, key: str, below: int) -> tuple[int, ...]:
        """Read a list of at most ``below`` integers from 0 to ``below`` - 1."""
        values = self._list(key, below, "whole numbers")
        if not all(type(value) is int and 0 <= value < below for value in values):
            raise self.error(key, f"must be whole numbers from 0 to {below - 1}")
        return tuple(value for value in values if isinstance(value, int))

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """Read a list of ``count`` numbers; infinity is allowed, NaN is not."""
        values = self._list(key, count, "numbers")
        if len(values) != count:
            raise self.error(key, f"must be a list of {count} numbers")
        return tuple(self._number(key, value) for value in values)

    def pairs(self, key: str, limit: int) -> tuple[tuple[float, float], ...]:
        """Read a list of pairs of numbers."""
        pairs: list[tuple[float, float]] = []
        for entry in self._list(key, limit, "pairs of numbers"):
            if not isinstance(entry, list) or len(entry) != 2:
                raise self.error(key, "must be a list of pairs of numbers")
            pairs.append((self._number(key, entry[0]), self._number(key, entry[1])))
        return tuple(pairs)

    def _get(self, key: str) -> object:
        self._read.add(key)
        if key not in self._values:
            raise self.error(key, "is missing")
        return self._values[key]

    def _list(self, key: str, limit: int, items: str) -> list[object]:
        values = self._get(key)
        if not isinstance(values, list) or len(values) > limit:
            raise self.error(key, f"must be a list of at most {limit} {items}")
        return values

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, "must be a number")
        try:
            number = float(value)
        except OverflowError:
            raise self.error(key, "is too large a number") from None
        if number != number:
            raise self.error(key, "must be a number")
        return number

    def _checked_text(self, key: str, value: object, allowed: str = "") -> str:
        if not isinstance(value, str):
            raise self.error(key, "must be a string")
        if len(value) > _LONGEST_TEXT:
            raise self.error(key, "is too long")
        if any(unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in allowed for char in value):
            raise self.error(key, "holds control characters")
        return value


def show(text: str) -> str:
    """Return untrusted text made safe for one line of a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text[:200])
