"""Runs with the recording runtime in their ranks, and what they leave."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.host.files import is_directory
from mpiric.host.installation.native import native_part
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.job import Job
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import Profile
from mpiric.model.record import Record
from mpiric.model.spelling import Spelling
from mpiric.profile.analyse import analyse
from mpiric.profile.merge import merge_parts
from mpiric.profile.read import read_record

RECORDS = "records"  # directory of a tune that holds those of its runs
_RUNTIME, _ALLOCATOR = "libmpiric.so", "libmpiric-allocator.so"
_KEPT_BYTES = 64 << 20  # of a tune's records together


@dataclass(frozen=True)
class Recorder:
    """The runtime as a launch carries it."""

    library: str  # absolute path
    merge: str = "tree"  # "never" where not every rank is known to get it
    options: Mapping[str, str] = field(default_factory=dict)  # of the runtime, as spec/options.toml has them
    before: tuple[str, ...] = ()  # other libraries of mpiric's, absolute paths

    def spelling(self, directory: Path) -> Spelling:
        """What a launch sets so that its ranks record into ``directory``."""
        return Spelling(
            environment={"MPIRIC_MERGE": self.merge, **self.options},
            preload=(*self.before, self.library),
            directories={"MPIRIC_RECORD_DIR": str(directory)},
        )


@dataclass(frozen=True)
class Recorded:
    """What one run has left."""

    directory: Path
    record: Record
    profile: Profile
    run_s: float = 0.0  # of the whole run, launcher and all; 0: unknown
    safe_s: float = 0.0  # until what it wrote was on the servers; 0: unknown
    ran_in: str = ""  # its working directory
    ended_unix_s: float = 0.0  # when that was over; 0: unknown


def recorder_of(job: Job, family: AbiFamily, options: Mapping[str, str] | None = None) -> Recorder:
    """The recorder for a job under a family of MPI libraries; NotFoundError where none was built.

    Ranks that a script starts elsewhere may lack the runtime: then none may wait for another's part.
    """
    merge = "tree" if job.launcher_words else "never"
    return Recorder(native_part(_RUNTIME, family), merge, options or {}, _counting())


def _counting() -> tuple[str, ...]:
    """What counts the allocator's calls, where this installation has it."""
    try:
        return (native_part(_ALLOCATOR),)
    except NotFoundError:
        return ()


def read_recorded(directory: Path, command: str, run_s: float = 0.0) -> Recorded:
    """What a run has left in its directory. Raises MpiricError where that is no usable record."""
    merge_parts(directory)
    record = read_record(directory)
    if record.missing:
        raise MpiricError(f"{len(record.missing)} of {record.world_size} ranks left no data")
    return Recorded(directory, record, analyse(record, command), run_s)


def keep_small(directory: Path, most_bytes: int = _KEPT_BYTES) -> None:
    """Remove records of a tune, the first ones first, until the rest is small."""
    records = sorted(
        (path for path in directory.glob("*") if is_directory(path)), key=lambda p: p.stat().st_mtime
    )
    sizes = {path: sum(file.stat().st_size for file in path.glob("*")) for path in records}
    for path in records:
        if sum(sizes.values()) <= most_bytes:
            return
        shutil.rmtree(path, ignore_errors=True)
        del sizes[path]
