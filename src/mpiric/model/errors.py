"""Errors that are shown to the user, and the exit statuses of mpiric.

Exit statuses below 120 are exit statuses of the user's program and are passed through.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit statuses of mpiric."""

    USAGE = 120  # the command line or a file given by the user cannot be used
    NOT_FOUND = 121  # a program, library or file is missing
    MISMATCH = 122  # launcher, library, recipe or machine do not match
    PROGRAM_FAILED = 123  # the user's unchanged command does not work, so there is nothing to tune
    NO_ROOM = 124  # no disk space, memory or permission
    SLOWER = 125  # `history --against`: the program has become slower
    FOUND = 125  # `doctor --fail-on`: the requested finding exists
    INTERRUPTED = 130  # Ctrl-C, after the best result so far was printed
    INTERNAL = 126  # a defect in mpiric


class MpiricError(Exception):
    """Error for the user: a sentence that names the problem, and a hint how to solve it."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, hint: str = "", exit_code: ExitCode | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code


class AfterRunError(Exception):
    """An error of mpiric after the end of the user's program, whose exit status is returned."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@contextmanager
def after_run(status: int) -> Iterator[None]:
    """Convert an exception into AfterRunError, so that the program's exit status is returned."""
    try:
        yield
    except Exception as error:
        raise AfterRunError(status) from error


class NotFoundError(MpiricError):
    """A program, library or file that the user named, or that mpiric needs, does not exist."""

    exit_code = ExitCode.NOT_FOUND


class MismatchError(MpiricError):
    """Two items that must match do not."""

    exit_code = ExitCode.MISMATCH


class NoRuntimeError(MismatchError):
    """The request needs mpiric's runtime in the ranks, which cannot be loaded there."""


class ProgramFailedError(MpiricError):
    """The user's unchanged command fails."""

    exit_code = ExitCode.PROGRAM_FAILED


class NoRoomError(MpiricError):
    """The disk is full, or a directory is not writable."""

    exit_code = ExitCode.NO_ROOM


@contextmanager
def writing(path: object, hint: str = "name another directory") -> Iterator[None]:
    """Convert an OSError of a write to ``path`` into NoRoomError."""
    try:
        yield
    except OSError as error:
        raise NoRoomError(f"cannot write {path}: {error.strerror or error}", hint=hint) from error
