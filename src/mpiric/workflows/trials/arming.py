"""Trials that carry the runtime's marks, original and candidate alike: else they could not be compared."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.model.errors import MpiricError
from mpiric.model.execution import Execution
from mpiric.model.marks import ONLY_TIMES, MarkPair, MarksState, RunMarks
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.model.trial import Phase, Split
from mpiric.profile.marks import read_first_rank, read_marks
from mpiric.tuning.marks.split import split_of
from mpiric.workflows.trials.output_follower import EVERY_S, PairFollower
from mpiric.workflows.trials.recording import recorder_for

_SWITCH = b"MPIRIC_MARK_OUT"
_PATIENCE_S = 2.0  # for the runtime's own end of a run, after rank 0 has begun it


@dataclass(frozen=True)
class Arming:
    """What runs of some phases carry: a pair of marks, at which they may end, or only a clock."""

    library: str  # absolute path of the runtime; "" where marks are printed
    phases: frozenset[Phase]
    pair: MarkPair | None = None  # None: runs are whole, times of MPI_Init and MPI_Finalize are taken
    ends: bool = False  # at the second mark

    def of_run(self, directory: Path, stdout: Path) -> "MarkedRun":
        """What the next run carries: its ranks write into ``directory``, the launch into ``stdout``."""
        if self.pair and self.pair.key.is_printed:
            return FollowedRun(self.pair, PairFollower(stdout, self.pair), ends=self.ends)
        return ArmedRun(self, directory)

    def spelling(self, directory: Path) -> Spelling:
        """What a launch sets so that its ranks leave their marks in ``directory``."""
        environment = {"MPIRIC_MARK": self.pair.option if self.pair else ONLY_TIMES}
        if self.ends:
            environment["MPIRIC_MARK_END"] = "1"
        if self.pair and self.pair.on_rank_0_alone:
            environment["MPIRIC_MARK_RANKS"] = "first"
        return Spelling(environment, preload=(self.library,), directories={"MPIRIC_MARK_OUT": str(directory)})


class MarkedRun(Protocol):
    """One run that is told apart by marks."""

    @property
    def early_end(self) -> EarlyEnd | None:
        """When the run may end before the program does; None when it is whole."""
        ...

    def spelling(self) -> Spelling | None:
        """What the launch sets."""
        ...

    def marks(self, execution: Execution) -> RunMarks | None:
        """What the run left, None when that is nothing that can be read."""
        ...

    def split(self, marks: RunMarks | None, execution: Execution) -> Split | None:
        """The run's times, None without marks."""
        ...

    def remove(self) -> None:
        """Remove what is not needed any more."""
        ...


@dataclass(frozen=True)
class FollowedRun:
    """One run whose marks lie in what it prints: nothing is loaded into its ranks, and the keeper ends it."""

    pair: MarkPair
    follower: PairFollower
    ends: bool

    @property
    def early_end(self) -> EarlyEnd | None:
        """When the run may end before the program does. What is never followed comes at no time."""
        return EarlyEnd(self._is_over, every_s=EVERY_S)

    def spelling(self) -> Spelling | None:
        """Nothing."""
        return None

    def marks(self, execution: Execution) -> RunMarks | None:
        """When the lines came; the output is cut behind the last mark."""
        return self.follower.marks(execution.started_ns)

    def split(self, marks: RunMarks | None, execution: Execution) -> Split | None:
        """The run's times, None without marks."""
        return _split(marks, self.pair, execution)

    def remove(self) -> None:
        """Nothing is left but the output."""

    def _is_over(self) -> bool:
        return self.follower.has_come() and self.ends


@dataclass(frozen=True)
class ArmedRun:
    """One run that carries marks, and the directory of its own that its ranks write them to."""

    arming: Arming
    directory: Path

    @property
    def early_end(self) -> EarlyEnd | None:
        """When the run may end before the program does; None when it is whole."""
        return EarlyEnd(self._has_ended, _PATIENCE_S, ends_itself=True) if self.arming.ends else None

    def spelling(self) -> Spelling:
        """What the launch sets, with a directory that exists from the start."""
        self.directory.mkdir(parents=True, exist_ok=True)
        return self.arming.spelling(self.directory)

    def marks(self, execution: Execution) -> RunMarks | None:  # noqa: ARG002 - the ranks tell it themselves
        """What the ranks left, None when that is nothing that can be read."""
        try:
            return read_marks(self.directory)
        except MpiricError:
            return None

    def split(self, marks: RunMarks | None, execution: Execution) -> Split | None:
        """The run's times, None without marks."""
        return _split(marks, self.arming.pair, execution)

    def remove(self) -> None:
        """Remove what the ranks left."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _has_ended(self) -> bool:
        first = read_first_rank(self.directory)
        return first is not None and first.state is MarksState.ENDED


def _split(marks: RunMarks | None, pair: MarkPair | None, execution: Execution) -> Split | None:
    if marks is None:
        return None
    started_s = time.time() - (time.monotonic_ns() - execution.started_ns) / 1e9
    return split_of(marks, pair, started_s, execution.wall_s)


def runtime_with_marks(situation: Situation, host: Host) -> str:
    """Path of the runtime for this program. Raises MpiricError where it cannot carry marks."""
    recorder = recorder_for(situation, host)
    if not read_embedded_texts(recorder.library, _SWITCH):
        raise MpiricError("the runtime of this installation is older than marks")
    return recorder.library
