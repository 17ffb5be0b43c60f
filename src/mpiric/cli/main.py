"""The `mpiric` command. Compilers start without click, since they are called for every source file."""

import sys
import time

STARTED_S = time.monotonic()  # before other imports, which are slow on a busy file system

from mpiric.cli._compiling import COMPILERS  # noqa: E402
from mpiric.cli._compiling import run as compile_one  # noqa: E402
from mpiric.cli._errors import exit_with  # noqa: E402


def main() -> None:
    """Run a command and end this process."""
    arguments = sys.argv[1:]
    if arguments[:1] and arguments[0] in COMPILERS:
        exit_with(lambda: compile_one(arguments[0], tuple(arguments[1:])))
    from mpiric.cli._verbs import run

    exit_with(run)
