"""What was noticed of the command as it is, and what became of it in a recorded run of the answer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SymptomChange:
    """One number that a setting is meant to move."""

    what: str  # "page faults a second and rank"
    before: float
    after: float
    noticed: str  # the same in words: "232,000 page faults a second and rank"
    afterwards: str
    moved: bool  # in the direction that is meant, by more than runs differ
    is_cause: bool = False  # the program's own doing, which explains the others and is not meant to move


@dataclass(frozen=True)
class RunTimes:
    """What one run's time went into, in seconds of the mean rank; together they are the whole run."""

    start_s: float  # until MPI_Init; with the end where that is not known apart
    computing_s: float
    waiting_s: float  # for other ranks, in MPI
    moving_s: float  # the rest of the time in MPI
    kernel_s: float  # system time outside of MPI and files, at most
    files_s: float
    end_s: float | None = None  # after MPI_Finalize
