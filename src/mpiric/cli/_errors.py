"""The end of every verb: its exit status, or an error as one sentence and a hint on stderr."""

import os
import sys
from collections.abc import Callable

from mpiric.cli._streams import guard
from mpiric.model.errors import AfterRunError, ExitCode, MpiricError


def exit_with(work: Callable[[], int]) -> None:
    """Do it and end this process with its exit status."""
    guard()
    try:
        status = work()
    except KeyboardInterrupt:
        say("interrupted")
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
        say(error.message, error.hint)
        return int(error.exit_code)
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output went away
        return 0
    if isinstance(error, OSError):
        say(f"{error.filename or 'the system'}: {error.strerror or error}")
        return int(ExitCode.NO_ROOM)
    if isinstance(error, MemoryError):
        say("there is not enough memory", "`ulimit -v` shows whether it is limited")
        return int(ExitCode.NO_ROOM)
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        say("no thread can be started: the limit of processes is reached", "raise it: ulimit -u")
        return int(ExitCode.NO_ROOM)
    if os.environ.get("MPIRIC_TRACEBACK"):
        raise error
    say(
        f"a defect in mpiric: {type(error).__name__}: {error}",
        "run again with MPIRIC_TRACEBACK=1 and report what it prints",
    )
    return int(ExitCode.INTERNAL)


def say(message: str, hint: str = "") -> None:
    """Print a sentence of mpiric's own where it does not meet the program's output, and log it."""
    if logging := sys.modules.get("logging"):  # not imported here: this module starts for every compilation
        logging.getLogger("mpiric.cli").info("%s", message, extra={"shown": True})
    print(f"mpiric: {message}", file=sys.stderr, flush=True)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
