"""Standard output and error for the messages of mpiric, in which quoted text cannot control the terminal.

Every entry point calls `guard` (through `exit_with`), after which all printed text passes `printable`.
Output of the program or compiler goes to the descriptors, or to `raw`, and is not changed.
"""

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from mpiric.model.quoting import printable


class PrintableStream:
    """A text stream that replaces control characters by visible escapes; all else is passed to ``raw``."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write the text without its control characters."""
        self.raw.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line without its control characters."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def guard() -> None:
    """Put `PrintableStream` in front of standard output and error, once."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, PrintableStream):  # None: it was closed when mpiric started
            continue
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # characters that the locale does not have
        setattr(sys, name, PrintableStream(stream))


def raw(stream: TextIO) -> TextIO:
    """Return the stream below the guard, for output of a user's program and for rich, which guards itself."""
    guarded: object = stream
    return guarded.raw if isinstance(guarded, PrintableStream) else stream
