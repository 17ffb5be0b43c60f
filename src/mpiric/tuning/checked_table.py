"""Strict reading of TOML tables and JSON objects: every key is asked for by type.

What nobody asked for is an error when the format says so.
"""

import unicodedata
from collections.abc import Mapping
from math import isfinite

from mpiric.model.errors import MpiricError

_LONGEST_TEXT = 20_000


class CheckedTable:
    """One table of a document; errors name the file and the key."""

    def __init__(self, values: object, where: str, path: str, hint: str) -> None:
        self._where, self._path, self._hint = where, path, hint
        if not isinstance(values, dict):
            raise MpiricError(f"{where}: '{path}' must be a table", hint=hint)
        self._values: Mapping[str, object] = values
        self._asked: set[str] = set()

    def error(self, key: str, what: str) -> MpiricError:
        """An error about one key of this table."""
        name = ".".join(part for part in (self._path, show(key)) if part)
        return MpiricError(f"{self._where}: '{name}' {show(what)}", hint=self._hint)

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self._values

    def nothing_else(self) -> None:
        """Refuse keys that were not asked for."""
        for key in self._values:
            if key not in self._asked:
                raise self.error(key, "is not a key of this format")

    def table(self, key: str) -> "CheckedTable":
        """A table within this one."""
        path = f"{self._path}.{key}" if self._path else key
        return CheckedTable(self._get(key), self._where, path, self._hint)

    def tables(self, key: str, most: int) -> tuple["CheckedTable", ...]:
        """A list of tables; the n-th is called ``key[n]`` in errors."""
        path = f"{self._path}.{key}" if self._path else key
        return tuple(
            CheckedTable(value, self._where, f"{path}[{index}]", self._hint)
            for index, value in enumerate(self._list(key, most, "tables"))
        )

    def truth(self, key: str) -> bool:
        """True or false."""
        value = self._get(key)
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def is_null(self, key: str) -> bool:
        """Whether the key is there with nothing in it (JSON's null)."""
        return self._get(key) is None

    def text(self, key: str, default: str | None = None) -> str:
        """A string without control characters."""
        if default is not None and key not in self._values:
            return default
        return self._checked_text(key, self._get(key))

    def word(self, key: str, words: tuple[str, ...]) -> str:
        """One of a fixed set of words."""
        value = self.text(key)
        if value not in words:
            raise self.error(key, f"must be one of {', '.join(words)}")
        return value

    def texts(self, key: str, most: int) -> tuple[str, ...]:
        """A list of strings; new lines and tabs are allowed in them (arguments of a command may hold any)."""
        return tuple(
            self._checked_text(key, value, allowed="\n\t") for value in self._list(key, most, "strings")
        )

    def text_map(self, most: int = 500) -> dict[str, str]:
        """The whole table as strings."""
        if len(self._values) > most:
            raise MpiricError(f"{self._where}: '{self._path}' has more than {most} entries", hint=self._hint)
        return {
            self._checked_text(key, key): self._checked_text(key, value)
            for key, value in self._values.items()
        }

    def integer(self, key: str, low: int, high: int) -> int:
        """A whole number between two bounds."""
        value = self._get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(key, f"must be a whole number from {low} to {high}")
        return value

    def number(self, key: str) -> float:
        """A finite number."""
        value = self._number(key, self._get(key))
        if not isfinite(value):
            raise self.error(key, "must be a finite number")
        return value

    def integers(self, key: str, below: int) -> tuple[int, ...]:
        """A list of whole numbers from 0 to ``below`` - 1, each of them once at most."""
        values = self._list(key, below, "whole numbers")
        if not all(type(value) is int and 0 <= value < below for value in values):
            raise self.error(key, f"must be whole numbers from 0 to {below - 1}")
        return tuple(value for value in values if isinstance(value, int))

    def numbers(self, key: str, exactly: int) -> tuple[float, ...]:
        """A list of so many numbers; infinity is allowed, not-a-number is not."""
        values = self._list(key, exactly, "numbers")
        if len(values) != exactly:
            raise self.error(key, f"must be a list of {exactly} numbers")
        return tuple(self._number(key, value) for value in values)

    def pairs(self, key: str, most: int) -> tuple[tuple[float, float], ...]:
        """A list of lists of two numbers."""
        pairs: list[tuple[float, float]] = []
        for entry in self._list(key, most, "pairs of numbers"):
            if not isinstance(entry, list) or len(entry) != 2:
                raise self.error(key, "must be a list of pairs of numbers")
            pairs.append((self._number(key, entry[0]), self._number(key, entry[1])))
        return tuple(pairs)

    def _get(self, key: str) -> object:
        self._asked.add(key)
        if key not in self._values:
            raise self.error(key, "is missing")
        return self._values[key]

    def _list(self, key: str, most: int, of: str) -> list[object]:
        values = self._get(key)
        if not isinstance(values, list) or len(values) > most:
            raise self.error(key, f"must be a list of at most {most} {of}")
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
    """Text of a stranger made safe for a terminal and for one line."""
    return "".join(char if char.isprintable() else "?" for char in text[:200])
