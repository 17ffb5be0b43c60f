"""Request of a profile, the directory of its record, and its report."""

import errno
import json
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path

from mpiric import __version__, launchers
from mpiric.host.host import Host
from mpiric.host.owned_files import read_own, write_text
from mpiric.host.processes.foreground import Output
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NoRoomError
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import Profile
from mpiric.profile import layout
from mpiric.profile.read import ENDED
from mpiric.report.json_objects import profile_json
from mpiric.report.profile_html import profile_html
from mpiric.tuning.store import Lock
from mpiric.workflows.mapping.map import order_for_record
from mpiric.workflows.trials.recorded_runs import DATA

PAGE = "report.html"
# Files of an earlier profile and their first bytes, which files of a killed run may lack.
_OF_RECORDS = {
    "record*.mpiric": (layout.RECORD_MAGIC,),
    "rank-*.part": (layout.IMAGE_MAGIC, bytes(len(layout.IMAGE_MAGIC)), b""),
    "merging.*": (layout.RECORD_MAGIC, bytes(len(layout.RECORD_MAGIC)), b""),
    "hints.[0-9]*": (b"file ", b""),
    ENDED: (b'{\n "unix_s": ',),
    PAGE: (b"<!doctype html>",),
    DATA: (b'{\n "command": ',),
}
_PAGE_TITLE = b"<title>mpiric: "
_BEGINNING_BYTES = 2048
_LOCK = ".profiling"
# Errors of a failing file system, as opposed to errors of the chosen name
FAILING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE})


@dataclass(frozen=True)
class ProfileRequest:
    """The options of `mpiric profile`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    directory: Path | None = None  # directory of the record; None for a new one in the working directory
    mpi: str = ""  # label of the MPI library to run under, "" for the launch line's own
    family: AbiFamily | None = None  # ABI family of a program whose MPI library is unknown before it runs
    output: Output = Output.STDOUT
    limit_s: float | None = None  # time after which the run is ended
    options: Mapping[str, str] = field(default_factory=dict)  # options of the runtime, see spec/options.toml


def make_directory(request: ProfileRequest) -> Path:
    """Make the directory of a profile that will be submitted."""
    job = launchers.parse_command(request.argv, request.working_directory, {})
    directory = directory_of(request, job.program[0])
    try:
        directory.mkdir(0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(directory, error) from error
    return directory


def directory_of(request: ProfileRequest, program: str) -> Path:
    """Return the requested directory, or a new name from program and time."""
    name = f"mpiric-profile-{Path(program).name}-{datetime.now():%Y%m%d-%H%M%S}"
    return (request.directory or Path(request.working_directory) / name).absolute()


def lock_emptied(directory: Path) -> Lock:
    """Lock the directory and remove the files of an earlier profile; other files stay.

    Raises MpiricError for a file with such a name that mpiric did not write.
    """
    directory.mkdir(0o755, parents=True, exist_ok=True)
    earlier = [(path, pattern) for pattern in _OF_RECORDS for path in directory.glob(pattern)]
    for path, pattern in earlier:
        if not _is_of_record(path, pattern):
            raise MpiricError(
                f"{path} exists, and mpiric did not write it; it would be overwritten",
                hint="name another directory with -o, or move that file",
            )
    lock = Lock.take(directory / _LOCK)
    for path, _ in earlier:
        path.unlink(missing_ok=True)
    return lock


def _is_of_record(path: Path, pattern: str) -> bool:
    """Return whether a profile of this user wrote a file, judged by its first bytes."""
    try:
        text = read_own(path, _BEGINNING_BYTES)
    except OSError:
        return False
    if pattern == PAGE and _PAGE_TITLE not in text:
        return False
    return any(text.startswith(begin) if begin else not text for begin in _OF_RECORDS[pattern])


def unwritable(directory: Path, error: OSError) -> NoRoomError:
    """Return the error for a directory that cannot be written."""
    return NoRoomError(
        f"{directory} cannot be written: {error.strerror}", hint="name another directory with -o"
    )


_MOST_ORDERED = 8192  # largest number of ranks that are ordered


def with_order(profile: Profile, record: Path, host: Host) -> Profile:
    """Add a proposed rank order if there are several nodes and not too many ranks."""
    if len(profile.nodes) < 2 or profile.world_size > _MOST_ORDERED:
        return profile
    try:
        return replace(profile, order=order_for_record(record, host))
    except MpiricError as error:
        return replace(profile, notes=(*profile.notes, f"no rank order was computed: {error.message}"))


def write_report(profile: Profile, directory: Path, host: Host) -> Path:
    """Write ``report.html`` and ``report.json``, and return the path of the page."""
    profile = with_order(profile, directory, host)
    write_text(directory / DATA, json.dumps(profile_json(profile), indent=1, ensure_ascii=False) + "\n")
    return write_text(directory / PAGE, profile_html(profile, __version__))
