"""NaN in the output of a program: a sign of a failed calculation that needs no reference output."""

import re
from collections.abc import Iterable
from pathlib import Path

from mpiric.model.quoting import one_line

_NAN = re.compile(rb"(?<![\w.])[-+]?nan(\(\w*\))?(?![\w.-])", re.IGNORECASE)
_LONGEST_LINE = 1 << 16
_SHOWN_CHARACTERS = 120
_HEAD_BYTES = 4096


class NanWatch:
    """Search for the first line with a NaN in output that arrives in pieces."""

    def __init__(self) -> None:
        self.line = ""  # first line with a NaN
        self._incomplete = b""

    def feed(self, piece: bytes) -> None:
        """Search the next piece."""
        if self.line:
            return
        *lines, incomplete = (self._incomplete + piece).split(b"\n")
        self._incomplete = incomplete[-_LONGEST_LINE:]
        self.line = next((_printed_line(line) for line in lines if _NAN.search(line)), "")

    def end(self) -> str:
        """Return the first line with a NaN, ""  without one; an incomplete last line is searched too."""
        self.feed(b"\n")
        return self.line


def first_nan(path: Path) -> str:
    """Return the first line with a NaN in a file; "" without one, or if the file cannot be read."""
    watch = NanWatch()
    try:
        with path.open("rb") as file:
            while not watch.line and (piece := file.read(1 << 20)):
                watch.feed(piece)
    except OSError:
        return ""
    return watch.end()


def first_nan_of(directory: Path, names: Iterable[str], since_s: float) -> str:
    """Return name and first line with a NaN of the files that were written since ``since_s``; "" without one.

    Files with zero bytes at their beginning are not text and are skipped.
    """
    for name in names:
        path = directory / name
        try:
            with path.open("rb") as file:
                is_text = b"\0" not in file.read(_HEAD_BYTES)
            is_new = path.stat().st_mtime >= since_s
        except OSError:
            continue
        if is_text and is_new and (line := first_nan(path)):
            return f"{name}: {line}"
    return ""


def _printed_line(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return one_line(text.replace("\t", " "))[:_SHOWN_CHARACTERS]
