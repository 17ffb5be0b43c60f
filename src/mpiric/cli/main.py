"""The ``mpiric`` command. Compilers start without click: they are called for every file of a program."""

import sys
import time

STARTED_S = time.monotonic()  # before anything else is imported, which a busy file system makes slow

from mpiric.cli._errors import exit_with  # noqa: E402

COMPILERS = ("cc", "cxx", "fc")


def main() -> None:
    """Run a verb and end this process."""
    words = sys.argv[1:]
    if words[:1] and words[0] in COMPILERS:
        from mpiric.cli._compiling import run as compile_one

        exit_with(lambda: compile_one(words[0], tuple(words[1:])))
    from mpiric.cli._verbs import run

    exit_with(run)
