"""Errors and findings that are shown to the user, and the exit codes of mpiric."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from mpiric.model.dataclass import dataclass


class ExitCode(IntEnum):
    """Exit codes of mpiric itself, each with its meaning.

    Errors have the codes of sysexits.h, failed checks 80 to 99. Codes from 124 up belong to timeout(1), the
    shell and container engines.
    """

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "ExitCode":
        """Make a member that carries its meaning."""
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    USAGE = 64, "the command line, or a file given by the user, cannot be used"
    PROGRAM_FAILED = 65, "the unchanged command of the user fails, so there is nothing to tune or measure"
    NOT_FOUND = 69, "a program, library or file is missing"
    INTERNAL = 70, "a defect in mpiric"
    NO_ROOM = 71, "the system refuses disk space, memory, a process or a permission"
    CONTINUES = 75, "inside a batch job: this job has done its part, and the next job goes on"
    MISMATCH = 78, "launcher, library, recipe or machine do not belong together"
    SLOWER = 80, "`history --against`: the program has become slower; `nodes`: a node is slow"
    FOUND = 81, "`doctor --fail-on`: one of the findings is reported"
    MISPLACED = 82, "`place --verify`: threads or memory are misplaced"
    DIFFERENT = 83, "`verify`: a variant fails or gives different results"
    REJECTED = 84, "`script`: the scheduler would not accept the script"
    INTERRUPTED = 130, "Ctrl-C; `tune` and `sweep` print the best result so far"


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


@dataclass(frozen=True)
class Finding:
    """Observation for the user, with evidence and fix; ``id`` is stable (``unbound-ranks``)."""

    id: str
    says: str  # a sentence
    evidence: str  # numbers or setting that show it
    fix: str  # instruction, as exact as possible
