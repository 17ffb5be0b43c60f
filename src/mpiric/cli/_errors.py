"""End a command with its exit status, and print an error as one sentence and a hint on stderr."""

import os
import sys
from collections.abc import Callable

from mpiric.cli._streams import guard
from mpiric.model.errors import AfterRunError, ExitCode, MpiricError


def exit_with(work: Callable[[], int]) -> None:
    """Do the work of a command and end this process with its exit status."""
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
    """Print an error and return its exit status."""
    if isinstance(error, MpiricError):
        say(error.message, error.hint)
        return int(error.exit_code)
    if isinstance(error, BrokenPipeError):
        _discard_output()  # its reader has ended
        return 0
    if isinstance(error, OSError):
        say(f"{error.filename or 'the system'}: {error.strerror or error}")
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        return int(ExitCode.NO_ROOM)
    if isinstance(error, MemoryError):
        say("not enough memory", "check the limit of this shell: ulimit -v")
        return int(ExitCode.NO_ROOM)
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        say("cannot start a thread: the limit of processes is reached", "raise the limit: ulimit -u")
        return int(ExitCode.NO_ROOM)
    if os.environ.get("MPIRIC_TRACEBACK"):
        raise error
    say(
        f"internal error: {type(error).__name__}: {error}",
        "set MPIRIC_TRACEBACK=1, run again and report the traceback",
    )
    return int(ExitCode.INTERNAL)


def _discard_output() -> None:
    """Discard unwritten output; Python would try again at its end, and change the exit status."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(message: str, hint: str = "") -> None:
    """Print a message and a hint on stderr, apart from the output of the program, and log the message."""
    if logging := sys.modules.get("logging"):  # not imported here, since each compilation loads this module
        logging.getLogger("mpiric.cli").info("%s", message, extra={"shown": True})
    print(f"mpiric: {message}", file=sys.stderr, flush=True)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
