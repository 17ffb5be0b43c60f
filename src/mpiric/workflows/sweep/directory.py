"""The directory that a sweep works in."""

import os
import shutil
from pathlib import Path

from mpiric.model.errors import MpiricError, NoRoomError, writing
from mpiric.schedulers import ROUNDS
from mpiric.tuning.store.lock import Lock

LOG, LOCK = "sweep.jsonl", "sweep.lock"


def make_directory(directory: Path, hint: str = "name another --out") -> None:
    """Make a directory to write into. Raises NoRoomError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoRoomError(f"cannot make {directory}: {error.strerror}", hint=hint) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise NoRoomError(f"cannot write into {directory}", hint=hint)


def forget(directory: Path) -> None:
    """Empty the directory for a new sweep: what an earlier one measured there does not count."""
    make_directory(directory)
    if holder := Lock.holder(directory / LOCK):
        raise MpiricError(f"another sweep works in {directory} ({holder})", hint="name another --out")
    with writing(directory, "name another --out"):
        (directory / LOG).unlink(missing_ok=True)
        shutil.rmtree(directory / ROUNDS, ignore_errors=True)
