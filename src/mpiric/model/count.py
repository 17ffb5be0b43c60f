"""Whole numbers that somebody else wrote: users, other programs, other users' environments."""

_MOST_DIGITS = 9
_MOST_DIGITS_OF_64_BITS = 18


def count_of(text: str) -> int:
    """The value of a count, 0 for anything but ASCII digits or for more of them than counts of ours have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


def number_of(text: str, otherwise: int = 0) -> int:
    """The value of ASCII digits that fits into 64 bits, ``otherwise`` for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS_OF_64_BITS
    return int(text) if is_number else otherwise
