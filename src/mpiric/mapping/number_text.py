"""Parser of texts of numbers; it works on whole files at once for speed."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import Numbers, Weights

_INTEGER = b"0123456789+-"
_REAL = _INTEGER + b".eE"
_BLANK = b" \t\r\n\f\v"
_MOST_DIGITS = 18  # digits of integers that fit into 64 bits


@dataclass(frozen=True)
class NumberText:
    """Values of a text, and the number of values per line."""

    values: Weights | Numbers
    per_line: Numbers


def parse_numbers(text: bytes, name: str, *, integers: bool, comment: bytes = b"%") -> NumberText:
    """Parse a text of numbers; lines that begin with ``comment`` are ignored.

    Raises MpiricError for anything else.
    """
    if comment in text:
        text = b"\n".join(line for line in text.split(b"\n") if not line.lstrip().startswith(comment))
    invalid = text.translate(None, (_INTEGER if integers else _REAL) + _BLANK)
    if invalid:
        kind = "an integer" if integers else "a number"
        raise MpiricError(f"{name}: {chr(invalid[0])!r} is not part of {kind}", hint="correct the file")
    letters = np.frombuffer(text, dtype=np.uint8)
    is_blank = np.concatenate(([True], letters <= ord(" "), [True]))
    starts = np.flatnonzero(is_blank[:-1] & ~is_blank[1:])
    ends = np.flatnonzero(~is_blank[:-1] & is_blank[1:])
    if integers and len(starts) and (ends - starts).max() > _MOST_DIGITS:
        raise MpiricError(f"{name}: a number has more than {_MOST_DIGITS} digits", hint="scale the weights")
    line_ends = np.flatnonzero(letters == ord("\n"))
    per_line = np.bincount(np.searchsorted(line_ends, starts), minlength=len(line_ends) + 1)
    return NumberText(_values(text, len(starts), name, integers=integers), per_line)


def _values(text: bytes, count: int, name: str, *, integers: bool) -> Weights | Numbers:
    kind: Any = np.int64 if integers else np.float64
    with warnings.catch_warnings():
        # NumPy warns about a text that it cannot read to its end.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values: Weights | Numbers = np.zeros(0, dtype=kind)
            if count:
                values = np.fromstring(text.decode("ascii"), dtype=kind, sep=" ")
        except (ValueError, DeprecationWarning):
            values = np.zeros(0, dtype=np.int64)
    if len(values) != count:
        raise MpiricError(f"{name}: it has words that are not numbers", hint="correct the file")
    return values
