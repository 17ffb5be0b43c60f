"""Consoles with the colours and the width of the terminal."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from mpiric.cli._streams import raw
from mpiric.model.quoting import printable

WIDTH_OF_FILES = 110  # rich narrows tables to 80 columns where the width is unknown


class PrintableConsole(Console):
    """A console whose only control sequences are its own: text is escaped, and never taken for markup."""

    def __init__(self, *, to_stderr: bool = False, width: int | None = None) -> None:
        stream = raw(sys.stderr if to_stderr else sys.stdout)
        super().__init__(file=stream, width=width, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with the control characters of the text as visible escapes."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def stdout_console(width: int | None = WIDTH_OF_FILES) -> Console:
    """Make the console of stdout, without colours when stdout is not a terminal or NO_COLOR is set.

    ``width`` applies to files and pipes, unless COLUMNS is set.
    """
    is_known = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return PrintableConsole(width=None if is_known else width)


def stderr_console(width: int | None = None) -> Console:
    """Make the console of stderr; ``width`` applies to files and pipes."""
    return PrintableConsole(to_stderr=True, width=None if sys.stderr.isatty() else width)


@contextmanager
def status_line(title: str = "", console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """Show a line on a terminal's stderr during the work. Yields a function that replaces its text."""
    with (console or stderr_console()).status(Text(title)) as status:
        yield lambda text: status.update(Text(text))
