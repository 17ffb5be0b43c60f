"""NaN in what a program prints: the sign of a calculation gone wrong that needs nothing to compare with."""

import re
from collections.abc import Iterable
from pathlib import Path

_NAN = re.compile(rb"(?<![\w.])[-+]?nan(\(\w*\))?(?![\w.-])", re.IGNORECASE)
_LONGEST_LINE = 1 << 16
_SHOWN = 120
_HEAD = 4096


class NanWatch:
    """Looks for the first line with a NaN in output that comes in pieces."""

    def __init__(self) -> None:
        self.line = ""  # the first one with a NaN
        self._rest = b""

    def hear(self, piece: bytes) -> None:
        """Look at what comes next."""
        if self.line:
            return
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        self.line = next((_shown(line) for line in lines if _NAN.search(line)), "")

    def end(self) -> str:
        """The first line with a NaN, "" without one; what is left of the last line counts as one."""
        self.hear(b"\n")
        return self.line


def first_nan(path: Path) -> str:
    """The first line with a NaN in a file, "" without one, or for what cannot be read."""
    watch = NanWatch()
    try:
        with path.open("rb") as file:
            while not watch.line and (piece := file.read(1 << 20)):
                watch.hear(piece)
    except OSError:
        return ""
    return watch.end()


def first_nan_of(directory: Path, names: Iterable[str], since_s: float) -> str:
    """The first line with a NaN in those files of a directory that were written since then, after its name.

    Files that hold zero bytes at their beginning are no text and not looked at.
    """
    for name in names:
        path = directory / name
        try:
            with path.open("rb") as file:
                is_text = b"\0" not in file.read(_HEAD)
            is_new = path.stat().st_mtime >= since_s
        except OSError:
            continue
        if is_text and is_new and (line := first_nan(path)):
            return f"{name}: {line}"
    return ""


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return "".join(char if char.isprintable() else " " for char in text)[:_SHOWN]
