"""Probes: methods of measuring a run. Baseline and candidate use the same one, to be comparable.

A probe defines additions to the launch, the condition for ending the run, and the evaluation. A probe
describes many runs; `begin` returns the probe of a single run.
"""

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from pathlib import Path
from statistics import median

from mpiric.host.owned_files import remove_tree
from mpiric.host.processes.request import EarlyEnd
from mpiric.lab.directory_runs import Recorder, read_recorded
from mpiric.lab.output_follower import EVERY_S, PairFollower
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.job import Spelling
from mpiric.model.pace import ONLY_TIMES, MarkPair, MarksState, RankMarks, RunMarks
from mpiric.model.run import Execution, Split
from mpiric.profile.marks import read_first_rank, read_marks
from mpiric.tuning.mark_split import split_of, split_of_stopped

_PATIENCE_S = 2.0  # time for the runtime to end a run, after rank 0 has started to do so

IsTooSlow = Callable[[float], bool]  # whether a run with at least this many seconds per step is useless


class Probe:
    """Probe that only measures the run time; it overrides the effects of other probes."""

    early_end: "EarlyEnd | None" = None  # when the run may end before the program does; None: it is whole
    keeps_output: bool = False  # whether what the run printed is read later
    was_stopped: bool = False  # whether it was too slow to be worth its end

    def begin(self, stem: Path, is_too_slow: IsTooSlow | None = None) -> "Probe":  # noqa: ARG002
        """Return the probe of the next run, whose files begin with ``stem``."""
        return self

    def spelling(self) -> Spelling | None:
        """Return the settings of the launch, and create the directories that the ranks write to."""
        return None

    def marks(self, execution: Execution) -> RunMarks | None:  # noqa: ARG002
        """Return the step markers of an ended run; None without markers."""
        return None

    def holds_window(self, marks: RunMarks | None) -> bool:  # noqa: ARG002
        """Return whether the required data of the run is complete, for any status of its launcher."""
        return False

    def split(
        self,
        marks: RunMarks | None,  # noqa: ARG002
        execution: Execution,  # noqa: ARG002
        stopped_after_s: float | None = None,  # noqa: ARG002
    ) -> Split | None:
        """Return the times of the run's parts, or bounds of them if it was stopped; None if unknown."""
        return None

    def remove(self) -> None:
        """Remove files that are not needed any more."""


@dataclass(frozen=True)
class WholeRun(Probe):
    """Complete run, or run to an early end; with a ``recorder`` its ranks record into ``directory``."""

    recorder: Recorder | None = None
    directory: Path = Path()
    early_end: EarlyEnd | None = None
    keeps_files: bool = False  # other files in the directory stay

    def spelling(self) -> Spelling | None:
        """Return the settings that make the ranks record."""
        if self.recorder is None:
            return None
        if not self.keeps_files:
            _make_empty(self.directory)
        return self.recorder.spelling(self.directory.absolute())


@dataclass(frozen=True)
class FileTime(Probe):
    """Time of the slowest rank in file operations, from a record that is removed afterwards."""

    recorder: Recorder
    directory: Path = Path()

    def begin(self, stem: Path, is_too_slow: IsTooSlow | None = None) -> "FileTime":  # noqa: ARG002
        """Return the probe of the next run."""
        return replace(self, directory=stem.with_suffix(".marks"))

    def spelling(self) -> Spelling:
        """Return the settings that make the ranks record."""
        _make_empty(self.directory)
        return self.recorder.spelling(self.directory.absolute())

    def split(
        self,
        marks: RunMarks | None,  # noqa: ARG002
        execution: Execution,
        stopped_after_s: float | None = None,
    ) -> Split | None:
        """Return the time in file operations; None without a usable record, and for a stopped run."""
        if stopped_after_s is not None:
            return None
        try:
            recorded = read_recorded(self.directory, "", execution.wall_s)
        except (MpiricError, OSError):
            return None
        return Split(0.0, io_s=max((rank.io_s for rank in recorded.profile.ranks), default=None))

    def remove(self) -> None:
        """Remove the record."""
        shutil.rmtree(self.directory, ignore_errors=True)


@dataclass(frozen=True)
class _Markers(Probe):
    """Two step markers; without a ``pair`` the times of MPI_Init and MPI_Finalize."""

    pair: MarkPair | None = None
    ends: bool = False  # the run ends at the second marker
    library: str = ""  # absolute path of the runtime
    slow: "SlowRun | None" = None

    @property
    def was_stopped(self) -> bool:  # type: ignore[override]
        """Return whether the run was stopped because it was too slow."""
        return self.slow is not None and self.slow.was_stopped

    def holds_window(self, marks: RunMarks | None) -> bool:
        """Return whether every relevant rank has passed the last marker.

        A launcher may kill the ranks and return an error while rank 0 is ending the run.
        """
        if not self.ends or self.pair is None or marks is None:
            return False
        on_first = self.pair.on_rank_0_alone
        counting = [rank for rank in marks.ranks if rank.rank == 0 or not on_first]
        is_whole = bool(counting) and all(rank.first and rank.last for rank in counting)
        return is_whole and (on_first or not marks.missing)

    def split(
        self, marks: RunMarks | None, execution: Execution, stopped_after_s: float | None = None
    ) -> Split | None:
        """Return start-up, main part and time per step, by the clock of the launch."""
        if marks is None:
            return None
        started_s = started_unix_s(execution)
        if stopped_after_s is None:
            return split_of(marks, self.pair, started_s, execution.wall_s)
        if self.slow is None:
            return split_of_stopped(marks, None, started_s, stopped_after_s)
        per_mark_s = self.slow.least_per_mark_s(marks.ranks)
        if per_mark_s is None:
            return None
        return split_of_stopped(marks, (self.slow.pair, per_mark_s), started_s, execution.wall_s)

    def _slow_run(self, is_too_slow: IsTooSlow | None) -> "SlowRun | None":
        return SlowRun(self.pair, is_too_slow) if self.pair and self.ends and is_too_slow else None


@dataclass(frozen=True)
class BetweenMarkers(_Markers):
    """Markers from MPI calls, which the runtime counts in the ranks and stores in ``directory``."""

    directory: Path = Path()

    def begin(self, stem: Path, is_too_slow: IsTooSlow | None = None) -> "BetweenMarkers":
        """Return the probe of the next run."""
        return replace(self, directory=stem.with_suffix(".marks"), slow=self._slow_run(is_too_slow))

    @property
    def early_end(self) -> EarlyEnd | None:  # type: ignore[override]
        """Return the condition for ending the run: the runtime ends it itself."""
        if not self.ends:
            return None
        return EarlyEnd(self._has_ended, _PATIENCE_S, ends_itself=True, is_hopeless=self._is_too_slow)

    def spelling(self) -> Spelling:
        """Return the settings of the runtime, with a directory that exists from the start."""
        _make_empty(self.directory)
        return self.settings()

    def settings(self) -> Spelling:
        """Return the settings of the runtime alone."""
        environment = {"MPIRIC_MARK": self.pair.option if self.pair else ONLY_TIMES}
        if self.ends:
            environment["MPIRIC_MARK_END"] = "1"
        if self.pair and self.pair.on_rank_0_alone:
            environment["MPIRIC_MARK_RANKS"] = "first"
        directories = {"MPIRIC_MARK_OUT": str(self.directory)}
        return Spelling(environment, preload=(self.library,), directories=directories)

    def marks(self, execution: Execution) -> RunMarks | None:  # noqa: ARG002
        """Read the files of the ranks."""
        try:
            return read_marks(self.directory)
        except MpiricError:
            return None

    def remove(self) -> None:
        """Remove the files of the ranks."""
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


@dataclass(frozen=True)
class OutputLines(_Markers):
    """Markers from output lines: nothing is loaded into the ranks, and the keeper ends the run."""

    follower: PairFollower | None = None

    def begin(self, stem: Path, is_too_slow: IsTooSlow | None = None) -> "OutputLines":
        """Return the probe of the next run."""
        assert self.pair is not None
        follower = PairFollower(stem.with_suffix(".stdout"), self.pair)
        return replace(self, follower=follower, slow=self._slow_run(is_too_slow))

    @property
    def early_end(self) -> EarlyEnd:  # type: ignore[override]
        """Return the condition for ending the run; the output is observed in any case."""
        return EarlyEnd(self._has_ended, every_s=EVERY_S, is_hopeless=self._is_too_slow)

    def marks(self, execution: Execution) -> RunMarks | None:
        """Return the times of the lines; truncate the output after the last one."""
        return self.follower.marks(execution.started_ns) if self.follower else None

    def _has_ended(self) -> bool:
        return self.follower is not None and self.follower.has_come() and self.ends

    def _is_too_slow(self) -> bool:
        if self.slow is None or self.follower is None:
            return False
        rank = self.follower.rank_so_far()
        return self.slow.look(rank, lambda: (rank,))


def between(pair: MarkPair, library: str, *, ends: bool) -> BetweenMarkers | OutputLines:
    """Return the probe for these markers: MPI calls, or lines of the output."""
    kind = OutputLines if pair.key.is_printed else BetweenMarkers
    return kind(pair, ends, library)


@dataclass
class SlowRun:
    """Detection of runs whose pace between the markers is too slow to complete them.

    The time starts when all relevant ranks have been seen after the first marker: later than each of them
    passed it, by this host's clock. The elapsed time is a lower bound for each rank that has not reached
    the last marker.
    """

    pair: MarkPair
    is_too_slow: IsTooSlow
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    was_stopped: bool = field(default=False, init=False)
    _since_s: float | None = field(default=None, init=False)
    _passed_s: float = field(default=0.0, init=False)

    def look(self, first: RankMarks | None, all_ranks: Callable[[], Iterable[RankMarks]]) -> bool:
        """Return whether to stop the run, from rank 0's current data and, if necessary, the other ranks'."""
        if first is None or first.first is None or first.last is not None:
            return False
        if self._since_s is None:
            counting = [first] if self.pair.on_rank_0_alone else [*all_ranks()]
            if counting and all(rank.first is not None for rank in counting):
                self._since_s = self.clock()
            return False
        self._passed_s = self.clock() - self._since_s
        self.was_stopped = self.was_stopped or self.is_too_slow(self._passed_s / self._marks)
        return self.was_stopped

    def least_per_mark_s(self, ranks: Iterable[RankMarks]) -> float | None:
        """Return a lower bound of the median rank's time per mark; None if unknown."""
        if self._since_s is None or not self._passed_s:
            return None
        counting = [rank for rank in ranks if rank.rank == 0 or not self.pair.on_rank_0_alone]
        spans = [
            rank.last.at_s - rank.first.at_s if rank.first and rank.last else self._passed_s
            for rank in counting
        ]
        return median(spans) / self._marks if spans else None

    @property
    def _marks(self) -> int:
        return self.pair.last - self.pair.first


def started_unix_s(execution: Execution) -> float:
    """Return the start time of a launch, by the wall clock of this host."""
    return time.time() - (time.monotonic_ns() - execution.started_ns) / 1e9


def _make_empty(directory: Path) -> None:
    """Create the directory of one run, without remains of a run that an interrupted tune did not log."""
    remove_tree(directory)
    directory.mkdir(parents=True)
