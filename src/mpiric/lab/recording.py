"""Runs with the recording runtime in their ranks, and their records."""

import shutil
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from mpiric.host.files import is_directory
from mpiric.host.installation.native import native_part
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.job import Job
from mpiric.model.launch import Spelling
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import Profile
from mpiric.model.record import Record
from mpiric.profile.analyse import analyse
from mpiric.profile.merge import merge_parts
from mpiric.profile.read import read_record

RECORDS = "records"  # directory of a tune with the records of its runs
_RUNTIME, _ALLOCATOR = "libmpiric.so", "libmpiric-allocator.so"
_KEPT_BYTES = 64 << 20  # limit of all records of a tune


@dataclass(frozen=True)
class Recorder:
    """Settings of a launch for the recording runtime."""

    library: str  # absolute path
    merge: str = "tree"  # "never" if some ranks may run without it
    options: Mapping[str, str] = field(default_factory=dict)  # options of the runtime, see spec/options.toml
    before: tuple[str, ...] = ()  # other libraries of mpiric, absolute paths

    def spelling(self, directory: Path) -> Spelling:
        """Return the settings that make the ranks record into ``directory``."""
        return Spelling(
            environment={"MPIRIC_MERGE": self.merge, **self.options},
            preload=(*self.before, self.library),
            directories={"MPIRIC_RECORD_DIR": str(directory)},
        )


@dataclass(frozen=True)
class Recorded:
    """Results of one recorded run."""

    directory: Path
    record: Record
    profile: Profile
    run_s: float = 0.0  # duration including the launcher; 0: unknown
    safe_s: float = 0.0  # time until its output was stored on the servers; 0: unknown
    ran_in: str = ""  # working directory
    ended_unix_s: float = 0.0  # time of its end; 0: unknown


def recorder_of(job: Job, family: AbiFamily, options: Mapping[str, str] | None = None) -> Recorder:
    """Return the recorder for a job with a family of MPI libraries. Raises NotFoundError without a runtime.

    Ranks that a script starts elsewhere may run without the runtime; no rank may then wait for another
    one's data.
    """
    merge = "tree" if job.launcher_words else "never"
    return Recorder(native_part(_RUNTIME, family), merge, options or {}, _counting())


def _counting() -> tuple[str, ...]:
    """Return the library that counts calls of the allocator, if it is installed."""
    try:
        return (native_part(_ALLOCATOR),)
    except NotFoundError:
        return ()


def read_recorded(directory: Path, command: str, run_s: float = 0.0) -> Recorded:
    """Return the record in a run's directory. Raises MpiricError if it is not usable."""
    merge_parts(directory)
    record = read_record(directory)
    if record.missing:
        raise MpiricError(f"{len(record.missing)} of {record.world_size} ranks left no data")
    return Recorded(directory, record, analyse(record, command), run_s)


def keep_small(directory: Path) -> None:
    """Remove the oldest records of a tune until the rest is within the limit."""
    records = sorted(
        (path for path in directory.glob("*") if is_directory(path)), key=lambda p: p.stat().st_mtime
    )
    sizes = {path: sum(file.stat().st_size for file in path.glob("*")) for path in records}
    for path in records:
        if sum(sizes.values()) <= _KEPT_BYTES:
            return
        shutil.rmtree(path, ignore_errors=True)
        del sizes[path]
