"""Numbers in text, whole files at once: values and the line each stands in."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import Numbers, Weights

_WHOLE = b"0123456789+-"
_REAL = _WHOLE + b".eE"
_BLANK = b" \t\r\n\f\v"
_MOST_DIGITS = 18  # of a whole number that fits into 64 bits


@dataclass(frozen=True)
class NumberText:
    """The values of a text, and how many stand in each line."""

    values: Weights | Numbers
    per_line: Numbers


def parse_numbers(text: bytes, name: str, *, whole: bool, comment: bytes = b"%") -> NumberText:
    """Parse a text of numbers apart from lines that begin with ``comment``.

    Raises MpiricError for anything else.
    """
    if comment in text:
        text = b"\n".join(line for line in text.split(b"\n") if not line.lstrip().startswith(comment))
    rest = text.translate(None, (_WHOLE if whole else _REAL) + _BLANK)
    if rest:
        what = "a whole number" if whole else "a number"
        raise MpiricError(f"{name}: {chr(rest[0])!r} is no part of {what}", hint="correct the file")
    letters = np.frombuffer(text, dtype=np.uint8)
    is_blank = np.concatenate(([True], letters <= ord(" "), [True]))
    starts = np.flatnonzero(is_blank[:-1] & ~is_blank[1:])
    ends = np.flatnonzero(~is_blank[:-1] & is_blank[1:])
    if whole and len(starts) and (ends - starts).max() > _MOST_DIGITS:
        raise MpiricError(f"{name}: a number has more than {_MOST_DIGITS} digits", hint="scale the weights")
    line_ends = np.flatnonzero(letters == ord("\n"))
    per_line = np.bincount(np.searchsorted(line_ends, starts), minlength=len(line_ends) + 1)
    return NumberText(_values(text, len(starts), name, whole=whole), per_line)


def _values(text: bytes, count: int, name: str, *, whole: bool) -> Weights | Numbers:
    kind: Any = np.int64 if whole else np.float64
    with warnings.catch_warnings():
        warnings.simplefilter(
            "error", DeprecationWarning
        )  # what NumPy says of a text that it cannot read to its end
        try:
            values: Weights | Numbers = np.zeros(0, dtype=kind)
            if count:
                values = np.fromstring(text.decode("ascii"), dtype=kind, sep=" ")
        except (ValueError, DeprecationWarning):
            values = np.zeros(0, dtype=np.int64)
    if len(values) != count:
        raise MpiricError(f"{name}: not everything in it is a number", hint="correct the file")
    return values
