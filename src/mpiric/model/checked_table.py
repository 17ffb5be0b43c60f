"""Strict reader of TOML tables and JSON objects: each key is read with its type.

Keys that were not read are an error if the format demands it (`refuse_unread`).
"""

import unicodedata
from collections.abc import Mapping
from math import isfinite

from mpiric.model.errors import MpiricError

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
