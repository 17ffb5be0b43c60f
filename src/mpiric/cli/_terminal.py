"""What is printed for people: colours and width as the terminal has them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

_WIDTH_OF_FILES = 110  # rich would squeeze tables to 80 columns when nobody's terminal tells the width


def stdout_console() -> Console:
    """Without colours when stdout is no terminal or NO_COLOR is set."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else _WIDTH_OF_FILES
    return Console(highlight=False, markup=False, width=width)


@contextmanager
def passing_words() -> Iterator[Callable[[str], None]]:
    """One line of what goes on, on a terminal's stderr and gone at the end; nothing elsewhere."""
    with Console(stderr=True, highlight=False).status("") as status:
        yield lambda text: status.update(Text(text))


def size(count: int) -> str:
    """Bytes in the largest binary unit that keeps the number above 1: ``512 KiB``, ``23.5 GiB``."""
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.0f} {units[0]}" if value >= 100 or value == int(value) else f"{value:.1f} {units[0]}"
