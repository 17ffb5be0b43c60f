"""What is printed for people: colours and width as the terminal has them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

_WIDTH_OF_FILES = 110  # rich would squeeze tables to 80 columns when nobody's terminal tells the width


def stdout_console() -> Console:
    """Make the console of stdout, without colours when stdout is no terminal or NO_COLOR is set."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else _WIDTH_OF_FILES
    return Console(highlight=False, markup=False, width=width)


@contextmanager
def passing_words() -> Iterator[Callable[[str], None]]:
    """One line of what goes on, on a terminal's stderr and gone at the end; nothing elsewhere."""
    with Console(stderr=True, highlight=False).status("") as status:
        yield lambda text: status.update(Text(text))
