"""The ``mpiric`` command: prints every error in one place.

Compilers start without click: they are called for every file of a program.
"""

import os
import sys
from collections.abc import Callable

from mpiric.model.errors import AfterRunError, ExitCode, MpiricError

COMPILERS = ("cc", "cxx", "fc")


def main() -> None:
    """Run a verb; an error becomes one sentence and a hint on stderr, never a traceback."""
    words = sys.argv[1:]
    if words[:1] and words[0] in COMPILERS:
        compile_with(words[0], words[1:])
    from mpiric.cli._verbs import run

    finish(run)


def compile_with(verb: str, words: list[str]) -> None:
    """What ``mpiric cc`` does with the words after it; ends this process."""
    from mpiric.cli._compiling import run

    finish(lambda: run(verb, tuple(words)))


def finish(work: Callable[[], int]) -> None:
    """Do it and end this process with its exit status."""
    try:
        status = work()
    except KeyboardInterrupt:
        _say("interrupted")
        status = int(ExitCode.INTERRUPTED)
    except AfterRunError as error:
        _explain(error.__cause__ or error)
        status = error.status
    except Exception as error:
        status = _explain(error)
    sys.exit(status)


def _explain(error: BaseException) -> int:
    """Say what went wrong, and give the exit status that it would mean."""
    if isinstance(error, MpiricError):
        _say(error.message, error.hint)
        return int(error.exit_code)
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output went away
        return 0
    if isinstance(error, OSError):
        _say(f"{error.filename or 'the system'}: {error.strerror or error}")
        return int(ExitCode.NO_ROOM)
    if os.environ.get("MPIRIC_TRACEBACK"):
        raise error
    _say(
        f"a defect in mpiric: {type(error).__name__}: {error}",
        "run again with MPIRIC_TRACEBACK=1 and report what it prints",
    )
    return int(ExitCode.INTERNAL)


def _say(message: str, hint: str = "") -> None:
    print(f"mpiric: {message}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
