"""What the user pipes into a command line that is run many times: read once, given to every run."""

import os
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_S = 0.5


@contextmanager
def piped_input() -> Iterator[str]:
    """Path of a file with standard input, "" when that is a terminal, /dev/null or closed.

    A redirected file is named itself; a pipe is read to its end first, unless nothing comes: under ssh and in
    scripts standard input is often a pipe that nobody ever writes to or closes.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        yield ""
        return
    if stat.S_ISREG(mode):
        yield str(Path(f"/proc/self/fd/{sys.stdin.fileno()}").resolve())
    elif (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and select.select([sys.stdin], [], [], _PATIENCE_S)[0]:
        with tempfile.NamedTemporaryFile(prefix="mpiric-stdin-") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.flush()
            yield file.name if file.tell() else ""
    else:
        yield ""
