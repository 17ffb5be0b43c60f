"""Symptoms of the original command, and their values in a recorded run of the tuned command."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SymptomChange:
    """Change of a number that a setting should improve."""

    what: str  # "page faults a second and rank"
    before: float
    after: float
    noticed: str  # text with the value before: "232,000 page faults per second and rank"
    afterwards: str
    moved: bool  # improved by more than the variation between runs
    is_cause: bool = (
        False  # property of the program that explains other symptoms and is not expected to change
    )


@dataclass(frozen=True)
class RunTimes:
    """Distribution of one run's time, in seconds of the mean rank; the sum is the run time."""

    start_s: float  # time until MPI_Init; includes the end if that is unknown
    computing_s: float
    waiting_s: float  # waiting for other ranks in MPI
    moving_s: float  # remaining time in MPI
    kernel_s: float  # upper bound of the system time outside MPI and files
    files_s: float
    end_s: float | None = None  # time after MPI_Finalize
