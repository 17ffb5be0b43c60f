"""The directory of a profile's record: its name, and that it is empty and this run's alone."""

import errno
from datetime import datetime
from pathlib import Path

from mpiric import launchers
from mpiric.model.errors import NoRoomError
from mpiric.tuning.store.lock import Lock
from mpiric.workflows.profile.request import ProfileRequest

_OF_RECORDS = ("record*.mpiric", "rank-*.part", "merging.*", "report.html", "report.json")
_LOCK = ".profiling"
# Errors of a file system that fails, as opposed to those of a name that never could have been written to
FAILING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE})


def make_directory(request: ProfileRequest) -> Path:
    """Make the directory of a profile that is to be submitted."""
    job = launchers.parse_command(request.argv, request.working_directory, {})
    directory = directory_of(request, job.program[0])
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(directory, error) from error
    return directory


def directory_of(request: ProfileRequest, program: str) -> Path:
    """The directory that is requested, or a new one named after program and time."""
    name = f"mpiric-profile-{Path(program).name}-{datetime.now():%Y%m%d-%H%M%S}"
    return (request.directory or Path(request.working_directory) / name).absolute()


def lock_emptied(directory: Path) -> Lock:
    """Lock the directory and remove an earlier profile's files from it; other files stay."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = Lock.take(directory / _LOCK)
    for pattern in _OF_RECORDS:
        for path in directory.glob(pattern):
            path.unlink()
    return lock


def unwritable(directory: Path, error: OSError) -> NoRoomError:
    """The error of a directory that the user can choose anew."""
    return NoRoomError(
        f"{directory} cannot be written: {error.strerror}", hint="name another directory with -o"
    )
