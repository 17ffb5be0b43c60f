"""The one error every room raises towards the user, and the exit statuses of mpiric's own failures.

Statuses below 120 belong to the user's program and are passed through.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit statuses of mpiric itself."""

    USAGE = 120  # the command line or a file given by the user cannot be used
    NOT_FOUND = 121  # a program, library or file is missing
    MISMATCH = 122  # launcher, library, recipe or machine do not belong together
    PROGRAM_FAILED = 123  # the user's unchanged command does not work, so there is nothing to tune
    NO_ROOM = 124  # disk, memory or permission
    SLOWER = 125  # `history --against`: the program has become slower
    FOUND = 125  # `doctor --fail-on`: what was asked about is there
    INTERRUPTED = 130  # Ctrl-C, after the best so far was printed
    INTERNAL = 126  # a defect in mpiric


class MpiricError(Exception):
    """An error of mpiric's own: one sentence that names what is wrong, and what to do about it."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, hint: str = "", exit_code: ExitCode | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code


class AfterRunError(Exception):
    """Something of ours failed after the user's program had ended: its exit status is the one that counts."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@contextmanager
def after_run(status: int) -> Iterator[None]:
    """Report what fails inside; the program's exit status stands."""
    try:
        yield
    except Exception as error:
        raise AfterRunError(status) from error


class NotFoundError(MpiricError):
    """Something the user named, or mpiric needs, is not there."""

    exit_code = ExitCode.NOT_FOUND


class MismatchError(MpiricError):
    """Two things that must belong together do not."""

    exit_code = ExitCode.MISMATCH


class NoRuntimeError(MismatchError):
    """What was asked for needs mpiric's runtime in the ranks, and it cannot be put there."""


class ProgramFailedError(MpiricError):
    """The user's command fails as it stands."""

    exit_code = ExitCode.PROGRAM_FAILED


class NoRoomError(MpiricError):
    """The disk is full, or a directory cannot be written."""

    exit_code = ExitCode.NO_ROOM


@contextmanager
def writing(path: object, hint: str = "name another directory") -> Iterator[None]:
    """Raise NoRoomError for what the system refuses inside, where ``path`` is written."""
    try:
        yield
    except OSError as error:
        raise NoRoomError(f"cannot write {path}: {error.strerror or error}", hint=hint) from error
