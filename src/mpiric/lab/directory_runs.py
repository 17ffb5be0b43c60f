"""Launches in trial directories, with the time until their output is stored, and with recorded ranks."""

import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path

from mpiric.host.files import drop_cached, exists, is_directory, make_safe
from mpiric.host.installation.native import native_part
from mpiric.host.isolation.working_copies import TrialDirectory, WorkingCopies
from mpiric.host.processes.captured import CommandLate, make_ready, run_captured, target_outside
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.host.processes.request import EarlyEnd
from mpiric.lab.render import line_without_program
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.job import Job, Launch, Spelling
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import Profile
from mpiric.model.quoting import sh_command
from mpiric.model.record import Record
from mpiric.model.run import Execution, Outcome, Trial
from mpiric.model.situation import Situation
from mpiric.profile.analyse import analyse
from mpiric.profile.read import merge_parts, read_record

_SMALL_BYTES = 1 << 20  # smaller amounts do not justify a launch on all nodes
_LIMIT_S = 600.0
_HINT = "run on one node, or choose another --objective than io"
# Each rank: time to synchronise its node's pages, in ns. `dd` drops a file's pages by fadvise.
_SCRIPT = (
    "begun=$(date +%s%N); sync -f . || exit 1; over=$(date +%s%N); "
    'for file; do dd if="$file" iflag=nocache count=0 status=none 2>/dev/null; done; '
    'echo "safe $((over - begun))"'
)


def make_durable(
    job: Job, nodes: int, directory: TrialDirectory, *, cold: tuple[str, ...] = (), read_back: bool = False
) -> tuple[int, float]:
    """Flush the output of a run to the servers; on several nodes with a launch that runs `sync` on each.

    Return the bytes in files that the run created or changed, and the time until they were stored.

    The start of that launch does not count: each rank reports the duration on its node. It also drops the
    cached pages of the files ``cold``. With ``read_back`` later reads of the run's files come from the
    servers.

    Raises OSError if bytes were lost, MpiricError if the nodes cannot be reached.
    """
    files = list(directory.written().values())
    size_bytes = sum(path.stat().st_size for path in files if exists(path))
    local_s = make_safe(files)
    if read_back:
        drop_cached(files)
    if nodes <= 1 or size_bytes < _SMALL_BYTES or directory.mount is not None:
        return size_bytes, local_s
    return size_bytes, local_s + _on_nodes(job, directory.path, cold)


def _on_nodes(job: Job, directory: Path, cold: tuple[str, ...]) -> float:
    argv = [*line_without_program(job), "sh", "-c", _SCRIPT, "sh", *cold]
    try:
        done = run_captured(argv, directory=directory, environment=job.environment, limit_s=_LIMIT_S)
    except (OSError, CommandLate) as error:
        raise MpiricError(f"the nodes cannot be asked to synchronise: {error}", hint=_HINT) from error
    took = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("safe ")]
    if done.returncode != 0 or not took:
        raise MpiricError(
            f"`{sh_command(argv[:3])} … sync` failed on the nodes: {done.stderr.strip()[-200:]}",
            hint=_HINT,
        )
    return max(int(word) for word in took if word.isdigit()) / 1e9


class UsersDirectory(TrialDirectory):
    """The user's own directory for every run; files that a run writes there are ignored."""

    def fresh(self) -> TrialDirectory:
        """Return the directory as it is."""
        return self

    def written(self) -> dict[str, Path]:
        """Return nothing."""
        return {}

    def copy_instead(self) -> None:
        """Do nothing, as mounts are never used."""

    def renew(self) -> None:
        """Do nothing."""


class DirectoryRuns:
    """Executor of launches that carries information from one run's directory to the next."""

    def __init__(self, runner: Runner, directories: WorkingCopies | UsersDirectory) -> None:
        self.cold: tuple[str, ...] = ()  # inputs that each run reads from the servers
        self.ran_in = ""  # directory of the last run
        self._runner, self._directories = runner, directories
        self._mounts_work = False
        self._changed_more = False  # the last run changed more of its directory than files

    def execute(
        self,
        launch: Launch,
        environment: Mapping[str, str],
        stem: Path,
        limit_s: float | None,
        *,
        observe: bool,
        early_end: EarlyEnd | None,
    ) -> tuple[TrialDirectory, Execution]:
        """Run a launch in its own directory; repeat it in a copy if the first run in a mount fails.

        The names of its output files begin with ``stem``.
        """
        if self._changed_more:
            self._directories.renew()
        input_files = frozenset(path for path in launch.files if not path.startswith("/"))
        directory = replace(self._directories.fresh(), input_files=input_files)
        self._changed_more = bool(launch.prepare)
        self.ran_in = str(directory.path)
        if complaint := self._not_ready(launch, environment, directory):
            return directory, Execution(Outcome.REFUSED, 0.0, 0, complaint)
        stdout, stderr = stem.with_suffix(".stdout"), stem.with_suffix(".stderr")
        execution = self._runner.execute(
            launch,
            environment,
            Workspace(directory.path, stdout, stderr, directory.mount),
            limit_s,
            observe=observe,
            early_end=early_end,
        )
        if directory.mount is not None and not self._mounts_work and self._gives_up_mounts(execution):
            return self.execute(launch, environment, stem, limit_s, observe=observe, early_end=early_end)
        return directory, execution

    def _not_ready(self, launch: Launch, environment: Mapping[str, str], directory: TrialDirectory) -> str:
        """Return why a launch cannot start in its directory, "" if it can; evict its inputs first."""
        if launch.prepare and directory.mount is not None:
            return "the directory is laid over the user's, where no layout can be set"
        if astray := target_outside(launch, directory.path):
            return f"'{astray}' leads out of the working directory by a link: its layout is left alone"
        layer = directory.mount.upper if directory.mount is not None else ""
        complaint = make_ready(launch, {**environment, **launch.environment}, directory.path, layer)
        drop_cached(directory.where(path) for path in self.cold)
        return complaint

    def _gives_up_mounts(self, execution: Execution) -> bool:
        """Return whether to repeat a failed first run in a copy, because the mount may be the cause."""
        self._mounts_work = execution.outcome is Outcome.OK
        if execution.outcome not in (Outcome.FAILED, Outcome.REFUSED):
            return False
        try:
            self._directories.copy_instead()
        except MpiricError:
            return False  # too large to copy: report the failure of the command itself
        return True

    def make_durable(
        self, trial: Trial, situation: Situation, directory: TrialDirectory, *, read_back: bool
    ) -> Trial:
        """Return the trial with the time until its bytes were stored; it failed if some were lost.

        With ``read_back`` also wait for the unwritten data of a stopped run, which would slow down the next
        run.
        """
        if trial.outcome is Outcome.TIMED_OUT and read_back and is_directory(Path(directory.path)):
            with suppress(OSError, MpiricError):
                make_durable(situation.job, situation.nodes, directory)
        if trial.outcome is not Outcome.OK or trial.came_early or not is_directory(Path(directory.path)):
            return trial
        try:
            size_bytes, until_safe_s = make_durable(
                situation.job, situation.nodes, directory, cold=self.cold, read_back=read_back
            )
        except OSError as error:
            reason = f"output was lost during synchronisation: {error.strerror}"
            return replace(trial, outcome=Outcome.FAILED, reason=reason)
        except MpiricError:
            return trial
        return replace(trial, safe_s=trial.wall_s + until_safe_s, written_bytes=size_bytes)


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
        raise MpiricError(
            f"{len(record.missing)} of {record.world_size} ranks left no data",
            hint="check that all ranks end with MPI_Finalize",
        )
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
