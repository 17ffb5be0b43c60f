"""Numbers and versions in text that users or other programs wrote."""

import re
from collections.abc import Callable

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
