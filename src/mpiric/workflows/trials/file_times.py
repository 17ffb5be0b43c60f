"""Runs for the objective `io`: recorded, so that each says how long its slowest rank was busy with files."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from mpiric.host.owned_files import remove_tree
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.model.errors import MpiricError
from mpiric.model.execution import Execution
from mpiric.model.marks import MarkPair, RunMarks
from mpiric.model.spelling import Spelling
from mpiric.model.trial import Phase, Split
from mpiric.workflows.trials.recording import Recorder, read_recorded


@dataclass(frozen=True)
class FileArming:
    """What runs of some phases carry for it: the recording runtime, original and candidate alike."""

    recorder: Recorder
    phases: frozenset[Phase]
    pair: MarkPair | None = None  # there are no marks

    def of_run(self, directory: Path, _stdout: Path, _is_too_slow: object = None) -> "FileRun":
        """What the next run carries: its ranks record into ``directory``."""
        return FileRun(self.recorder, directory)


@dataclass(frozen=True)
class FileRun:
    """One run, and where its ranks record."""

    recorder: Recorder
    directory: Path
    early_end: EarlyEnd | None = None  # it is whole
    was_stopped: bool = False

    def spelling(self) -> Spelling:
        """What the launch sets, with a directory that exists from the start."""
        remove_tree(self.directory)  # left by a run that an interrupted tune did not note
        self.directory.mkdir(parents=True)
        return self.recorder.spelling(self.directory.absolute())

    def marks(self, execution: Execution) -> RunMarks | None:  # noqa: ARG002 - there are none
        """Nothing."""
        return None

    def holds_window(self, marks: RunMarks | None) -> bool:  # noqa: ARG002
        """No: it goes to its end."""
        return False

    def split(self, marks: RunMarks | None, execution: Execution) -> Split | None:  # noqa: ARG002
        """The time in calls on files; None without a usable record."""
        try:
            recorded = read_recorded(self.directory, "", execution.wall_s)
        except (MpiricError, OSError):
            return None
        return Split(0.0, io_s=max((rank.io_s for rank in recorded.profile.ranks), default=None))

    def split_of_stopped(self, marks: RunMarks | None, execution: Execution, stopped_after_s: float) -> None:
        """Nothing: its record is not looked at."""

    def remove(self) -> None:
        """Remove the record."""
        shutil.rmtree(self.directory, ignore_errors=True)
