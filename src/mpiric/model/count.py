"""Whole numbers that somebody else wrote: users, other programs, other users' environments."""

_MOST_DIGITS = 9


def count_of(text: str) -> int:
    """The value of a count, 0 for anything but ASCII digits or for more of them than counts of ours have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0
