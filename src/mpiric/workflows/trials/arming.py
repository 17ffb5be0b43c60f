"""Trials that carry the runtime's marks, original and candidate alike: else they could not be compared."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.host.owned_files import remove_tree
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.model.errors import MpiricError
from mpiric.model.execution import Execution
from mpiric.model.marks import ONLY_TIMES, MarkPair, MarksState, RankMarks, RunMarks
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.model.trial import Phase, Split
from mpiric.profile.marks import read_first_rank, read_marks
from mpiric.tuning.marks.split import split_of, split_of_stopped
from mpiric.workflows.trials.output_follower import EVERY_S, PairFollower
from mpiric.workflows.trials.recording import recorder_for
from mpiric.workflows.trials.slow_run import SlowRun

_SWITCH = b"MPIRIC_MARK_OUT"
_PATIENCE_S = 2.0  # for the runtime's own end of a run, after rank 0 has begun it


@dataclass(frozen=True)
class Arming:
    """What runs of some phases carry: a pair of marks, at which they may end, or only a clock."""

    library: str  # absolute path of the runtime; "" where marks are printed
    phases: frozenset[Phase]
    pair: MarkPair | None = None  # None: runs are whole, times of MPI_Init and MPI_Finalize are taken
    ends: bool = False  # at the second mark

    def of_run(
        self, directory: Path, stdout: Path, is_too_slow: Callable[[float], bool] | None = None
    ) -> "MarkedRun":
        """What the next run carries: its ranks write into ``directory``, the launch into ``stdout``.

        One that ends at a mark is stopped before where ``is_too_slow`` says so of its seconds per mark.
        """
        slow = SlowRun(self.pair, is_too_slow) if self.pair and self.ends and is_too_slow else None
        if self.pair and self.pair.key.is_printed:
            return FollowedRun(self.pair, PairFollower(stdout, self.pair), slow, ends=self.ends)
        return ArmedRun(self, directory, slow)

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
        """The moment at which the run may end before the program does; None when it is whole."""
        ...

    @property
    def was_stopped(self) -> bool:
        """Whether it was too slow to be worth its end."""
        ...

    def spelling(self) -> Spelling | None:
        """What the launch sets."""
        ...

    def marks(self, execution: Execution) -> RunMarks | None:
        """What the run left, None when that is nothing that can be read."""
        ...

    def holds_window(self, marks: RunMarks | None) -> bool:
        """Return whether the marks hold the whole window of the run, whatever the status of its launcher."""
        ...

    def split(self, marks: RunMarks | None, execution: Execution) -> Split | None:
        """The run's times, None without marks."""
        ...

    def split_of_stopped(
        self, marks: RunMarks | None, execution: Execution, stopped_after_s: float
    ) -> Split | None:
        """What is known of the times of a run that was stopped; None where that is nothing."""
        ...

    def remove(self) -> None:
        """Remove what is not needed any more."""
        ...


@dataclass(frozen=True)
class FollowedRun:
    """One run whose marks lie in what it prints: nothing is loaded into its ranks, and the keeper ends it."""

    pair: MarkPair
    follower: PairFollower
    slow: SlowRun | None = None
    ends: bool = False

    @property
    def early_end(self) -> EarlyEnd | None:
        """The moment at which the run may end early: none for a mark that is never followed."""
        return EarlyEnd(self._is_over, every_s=EVERY_S, is_hopeless=self._is_too_slow)

    @property
    def was_stopped(self) -> bool:
        """Whether it was too slow to be worth its end."""
        return self.slow is not None and self.slow.was_stopped

    def spelling(self) -> Spelling | None:
        """Nothing."""
        return None

    def marks(self, execution: Execution) -> RunMarks | None:
        """Read when the lines came; the output is cut behind the last mark."""
        return self.follower.marks(execution.started_ns)

    def holds_window(self, marks: RunMarks | None) -> bool:
        """Return whether both lines were printed."""
        return self.ends and marks is not None and _is_whole(marks, self.pair)

    def split(self, marks: RunMarks | None, execution: Execution) -> Split | None:
        """The run's times, None without marks."""
        return _split(marks, self.pair, execution)

    def split_of_stopped(
        self, marks: RunMarks | None, execution: Execution, stopped_after_s: float
    ) -> Split | None:
        """What is known of the times of a run that was stopped; None where that is nothing."""
        return _stopped(marks, self.slow, execution, stopped_after_s)

    def remove(self) -> None:
        """Nothing is left but the output."""

    def _is_over(self) -> bool:
        return self.follower.has_come() and self.ends

    def _is_too_slow(self) -> bool:
        if self.slow is None:
            return False
        rank = self.follower.rank_so_far()
        return self.slow.look(rank, lambda: (rank,))


@dataclass(frozen=True)
class ArmedRun:
    """One run that carries marks, and the directory of its own that its ranks write them to."""

    arming: Arming
    directory: Path
    slow: SlowRun | None = None

    @property
    def early_end(self) -> EarlyEnd | None:
        """The moment at which the run may end before the program does; None when it is whole."""
        if not self.arming.ends:
            return None
        return EarlyEnd(self._has_ended, _PATIENCE_S, ends_itself=True, is_hopeless=self._is_too_slow)

    @property
    def was_stopped(self) -> bool:
        """Whether it was too slow to be worth its end."""
        return self.slow is not None and self.slow.was_stopped

    def spelling(self) -> Spelling:
        """What the launch sets, with a directory that exists from the start."""
        remove_tree(self.directory)  # left by a run that an interrupted tune did not note
        self.directory.mkdir(parents=True)
        return self.arming.spelling(self.directory)

    def marks(self, execution: Execution) -> RunMarks | None:  # noqa: ARG002 - the ranks tell it themselves
        """What the ranks left, None when that is nothing that can be read."""
        try:
            return read_marks(self.directory)
        except MpiricError:
            return None

    def holds_window(self, marks: RunMarks | None) -> bool:
        """Return whether every rank that counts has passed the last mark.

        A launcher may kill the ranks, and say so in its status, while rank 0 is about to end the run.
        """
        pair = self.arming.pair
        return self.arming.ends and pair is not None and marks is not None and _is_whole(marks, pair)

    def split(self, marks: RunMarks | None, execution: Execution) -> Split | None:
        """The run's times, None without marks."""
        return _split(marks, self.arming.pair, execution)

    def split_of_stopped(
        self, marks: RunMarks | None, execution: Execution, stopped_after_s: float
    ) -> Split | None:
        """What is known of the times of a run that was stopped; None where that is nothing."""
        return _stopped(marks, self.slow, execution, stopped_after_s)

    def remove(self) -> None:
        """Remove what the ranks left."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _has_ended(self) -> bool:
        first = read_first_rank(self.directory)
        return first is not None and first.state is MarksState.ENDED

    def _is_too_slow(self) -> bool:
        return self.slow is not None and self.slow.look(read_first_rank(self.directory), self._ranks)

    def _ranks(self) -> tuple[RankMarks, ...]:
        try:
            marks = read_marks(self.directory)
        except MpiricError:
            return ()
        return () if marks.missing else marks.ranks


def started_unix_s(execution: Execution) -> float:
    """The time a launch was started, by the wall clock of this host."""
    return time.time() - (time.monotonic_ns() - execution.started_ns) / 1e9


def _is_whole(marks: RunMarks, pair: MarkPair) -> bool:
    counting = [rank for rank in marks.ranks if rank.rank == 0 or not pair.on_rank_0_alone]
    is_whole = bool(counting) and all(rank.first and rank.last for rank in counting)
    return is_whole and (pair.on_rank_0_alone or not marks.missing)


def _split(marks: RunMarks | None, pair: MarkPair | None, execution: Execution) -> Split | None:
    if marks is None:
        return None
    return split_of(marks, pair, started_unix_s(execution), execution.wall_s)


def _stopped(
    marks: RunMarks | None, slow: SlowRun | None, execution: Execution, stopped_after_s: float
) -> Split | None:
    if marks is None:
        return None
    started_s = started_unix_s(execution)
    if slow is None:
        return split_of_stopped(marks, None, started_s, stopped_after_s)
    per_mark_s = slow.least_per_mark_s(marks.ranks)
    least = None if per_mark_s is None else (slow.pair, per_mark_s)
    return split_of_stopped(marks, least, started_s, execution.wall_s) if least else None


def runtime_with_marks(situation: Situation, host: Host) -> str:
    """Path of the runtime for this program. Raises MpiricError where it cannot carry marks."""
    recorder = recorder_for(situation, host)
    if not read_embedded_texts(recorder.library, _SWITCH):
        raise MpiricError("the runtime of this installation is older than marks")
    return recorder.library
