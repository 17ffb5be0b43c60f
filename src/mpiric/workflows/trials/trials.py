"""Trials: runs configurations of one job, one at a time, and has each judged before its time counts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from math import inf
from pathlib import Path
from statistics import mean
from typing import Protocol

from mpiric.host.processes.early_end import EarlyEnd
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.execution import Execution
from mpiric.model.launch import Launch
from mpiric.model.marks import RunMarks
from mpiric.model.situation import RankSeen, Situation
from mpiric.model.spelling import Spelling
from mpiric.model.trial import Outcome, Phase, Split, Trial
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.launch.spelling import render
from mpiric.workflows.trials.arming import Arming, MarkedRun, started_unix_s
from mpiric.workflows.trials.directory_runs import DirectoryRuns, DirectorySource, LaunchRunner
from mpiric.workflows.trials.failure_cause import FailureCause, LocalMachine, LostAllocationError
from mpiric.workflows.trials.file_times import FileArming
from mpiric.workflows.trials.filled_memory import on_filled_memory
from mpiric.workflows.trials.judge import OUTPUTS, Judge, set_by

_MOST_EXCUSES = 3  # in a row, when a host or the scheduler failed and not the run
_LEARNED_FROM = (Phase.OBSERVE, Phase.RECORD)  # whose outputs are kept, of the original
_MOST_RERUNS = 3  # of the original, when a run is about to be rejected for its output


@dataclass(frozen=True)
class TrialResult:
    """A judged trial, what was seen of its ranks, and the marks that they left."""

    trial: Trial
    ranks: tuple[RankSeen, ...] = ()
    marks: RunMarks | None = None

    def ended(self, outcome: Outcome, reason: str) -> "TrialResult":
        """The same with another outcome."""
        return replace(self, trial=replace(self.trial, outcome=outcome, reason=reason))


class TrialSource(Protocol):
    """Where trials come from: run when asked for (`Trials`), or planned (`LookaheadTrials`)."""

    count: int  # of trials so far
    around_runs_s: float  # spent on directories and on looking at what runs left

    @property
    def run_s(self) -> float:
        """Seconds of a run so far with all that surrounds it, on average; 0 before the first."""
        ...

    def took_s(self, trial: Trial) -> float:
        """Seconds of one run with all that surrounds it, as far as known."""
        ...

    def run(
        self,
        situation: Situation,
        configuration: Configuration,
        phase: Phase,
        limit_s: float | None = None,
        pair: int = -1,
        replicate: int = 0,
        *,
        stop_at: float | None = None,
    ) -> TrialResult:
        """One run of a configuration; with ``stop_at`` it is of use even when it was stopped."""
        ...

    def watch_memory(self, situation: Situation) -> None:
        """Refuse later runs whose memory grows far beyond the original's."""
        ...


def _nothing() -> None:
    """Do nothing."""


class Trials:
    """Runs and judges; every trial is in the store before anyone hears of it."""

    def __init__(
        self,
        runner: LaunchRunner,
        directories: DirectorySource,
        log: TuneLog,
        judge: Judge,
        failure_cause: FailureCause | None = None,
        block: str = "",
    ) -> None:
        self.judge = judge
        self.arming: Arming | FileArming | None = None  # what runs carry from now on
        self.count = len(log.read().trials)
        self.runs = DirectoryRuns(runner, directories)
        self._log = log
        self._failure_cause, self._block = failure_cause or LocalMachine(), block
        self.after_ended_run: Callable[[], None] = _nothing  # called when a run did not end by itself
        self.around_runs_s = 0.0  # spent on directories and on looking at what runs left
        self._took_s: dict[int, float] = {}  # number of a trial → seconds with all that surrounds it
        self._excuses_left = _MOST_EXCUSES
        self._reruns_left = _MOST_RERUNS
        self._outputs = log.path / OUTPUTS
        self._outputs.mkdir(exist_ok=True)

    def run(
        self,
        situation: Situation,
        configuration: Configuration,
        phase: Phase,
        limit_s: float | None = None,
        pair: int = -1,
        replicate: int = 0,
        *,
        observe: bool = False,
        carried: Spelling | None = None,
        early_end: EarlyEnd | None = None,
        stop_at: float | None = None,
    ) -> TrialResult:
        """Run one configuration; again when host or scheduler failed under it.

        ``carried`` goes into the launch beside the configuration: the recording runtime. Without it, and
        without an ``early_end`` of its own, the run carries marks as `arming` has it. With ``stop_at`` it may
        be stopped at its limit, or once its objective is known to be above: the least that it is, is kept.

        Raises KeyboardInterrupt when the user stops it and LostAllocationError when a host is gone, both
        after noting the trial.
        """
        trial = self._begun(configuration, phase, pair, replicate)
        armed = None if carried or early_end else self._armed(trial, stop_at)
        if stop_at is not None and self.judge.at_mark is None:
            limit_s = min(stop_at, inf if limit_s is None else limit_s)
        try:
            launch = render(configuration, situation, armed.spelling() if armed else carried)
        except MpiricError as error:
            return self._noted(TrialResult(replace(trial, reason=error.message)))
        watched = armed.early_end if armed else early_end
        result = self._executed(
            trial, launch, situation, limit_s, armed, watched, observe=observe, stoppable=stop_at is not None
        )
        if result.trial.outcome is not Outcome.OK or watched is not None:
            self.after_ended_run()
        if self._excused(result):
            return self.run(
                situation, configuration, phase, limit_s, pair, replicate,
                observe=observe, carried=carried, early_end=early_end, stop_at=stop_at,
            )  # fmt: skip
        trial = self._noted(result).trial
        if trial.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        is_of_use = trial.outcome is Outcome.OK or trial.at_least is not None
        is_kept = phase is Phase.FINISH or (phase in _LEARNED_FROM and not configuration)
        if is_of_use and not is_kept:
            Path(trial.stdout).unlink(missing_ok=True)
            Path(trial.stderr).unlink(missing_ok=True)
        if trial.outcome is Outcome.DIFFERENT and self._reruns_left and self.judge.expectation is not None:
            return self._doubted(result, situation, set_by(launch))
        return result

    def watch_memory(self, situation: Situation) -> None:
        """Refuse later runs whose memory grows far beyond the original's."""
        self.judge.limit_memory(situation)

    @property
    def run_s(self) -> float:
        """Seconds of a run so far with all that surrounds it, on average; 0 before the first."""
        return mean(self._took_s.values()) if self._took_s else 0.0

    def took_s(self, trial: Trial) -> float:
        """Seconds of one run with all that surrounds it; before a resumption, until its bytes were safe."""
        return self._took_s.get(trial.number, trial.safe_s or trial.wall_s)

    @property
    def next_stdout(self) -> Path:
        """Where the next run's output goes."""
        return self._outputs / f"{self.count + 1}.stdout"

    def _armed(self, trial: Trial, stop_at: float | None) -> MarkedRun | None:
        """What a trial carries of marks."""
        if self.arming is None or trial.phase not in self.arming.phases:
            return None
        stem = self._outputs / str(trial.number)
        is_too_slow = None if stop_at is None else partial(self._is_above, stop_at)
        return self.arming.of_run(stem.with_suffix(".marks"), stem.with_suffix(".stdout"), is_too_slow)

    def _is_above(self, objective: float, per_mark_s: float) -> bool:
        least = self.judge.least(Split(0.0, per_mark_s=per_mark_s))
        return least is not None and least >= objective

    def _begun(self, configuration: Configuration, phase: Phase, pair: int, replicate: int) -> Trial:
        self.count += 1
        return Trial(
            configuration,
            phase,
            Outcome.REFUSED,
            0.0,
            started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            number=self.count,
            pair=pair,
            replicate=replicate,
            block=self._block,
        )

    def _executed(
        self,
        trial: Trial,
        launch: Launch,
        situation: Situation,
        limit_s: float | None,
        armed: MarkedRun | None,
        early_end: EarlyEnd | None,
        *,
        observe: bool,
        stoppable: bool,
    ) -> TrialResult:
        begun = time.monotonic()
        stdout, stderr = (str(self._outputs / f"{trial.number}.{name}") for name in ("stdout", "stderr"))
        given = launch, situation.job.environment, stdout, stderr, limit_s
        directory, execution = self.runs.execute(*given, observe=observe, early_end=early_end)
        marks = armed.marks(execution) if armed else None
        trial = replace(
            trial,
            stdout=stdout,
            stderr=stderr,
            outcome=execution.outcome,
            wall_s=execution.wall_s,
            ended_unix_s=started_unix_s(execution) + execution.wall_s if execution.started_ns else 0.0,
            exit_status=execution.exit_status,
            reason=execution.reason,
            rss_peak_bytes=execution.rss_peak_bytes,
            split=armed.split(marks, execution) if armed else None,
            came_early=execution.came_early,
        )
        if stoppable and (execution.outcome is Outcome.TIMED_OUT or (armed and armed.was_stopped)):
            trial = self._stopped(trial, execution, armed, marks, limit_s)
        if armed:
            armed.remove()
        trial = self.runs.make_durable(trial, situation, directory, read_back=self.judge.until_safe)
        until_safe_s = max(0.0, time.monotonic() - begun - execution.wall_s)
        if trial.outcome is Outcome.OK:
            trial = self.judge.judge(trial, launch, situation, execution.ranks, directory, marks)
        around_s = max(0.0, time.monotonic() - begun - execution.wall_s)
        self.around_runs_s += around_s
        keeps_copies = trial.phase in _LEARNED_FROM and not trial.configuration  # as no later run does
        self._took_s[trial.number] = execution.wall_s + (until_safe_s if keeps_copies else around_s)
        return TrialResult(trial, execution.ranks, marks)

    def _stopped(
        self,
        trial: Trial,
        execution: Execution,
        armed: MarkedRun | None,
        marks: RunMarks | None,
        limit_s: float | None,
    ) -> Trial:
        """The trial of a run that was stopped, with what is known of its objective."""
        stopped_after_s = execution.wall_s if limit_s is None else limit_s
        split = armed.split_of_stopped(marks, execution, stopped_after_s) if armed else None
        return replace(
            trial,
            outcome=Outcome.TIMED_OUT,
            reason=trial.reason or "stopped, as the other run of its pair is much faster",
            split=split,
            at_least=stopped_after_s if self.judge.at_mark is None else self.judge.least(split),
            came_early=False,
        )

    def _excused(self, result: TrialResult) -> bool:
        """Whether the run is to be made again, because it was not the program that failed."""
        if result.trial.outcome not in (Outcome.FAILED, Outcome.TIMED_OUT):
            self._excuses_left = _MOST_EXCUSES
            return False
        try:
            excuse = self._failure_cause.excuse(Path(result.trial.stderr)) if self._excuses_left else ""
        except LostAllocationError as lost:
            self._noted(result.ended(Outcome.INTERRUPTED, lost.message))
            self._failure_cause.leave()
            raise
        if excuse:
            self._excuses_left -= 1
            self._noted(result.ended(Outcome.INTERRUPTED, excuse))
        return bool(excuse)

    def _doubted(self, result: TrialResult, situation: Situation, settings: tuple[str, ...]) -> TrialResult:
        """See whether the original always prints the same, before output counts against a configuration."""
        self._reruns_left -= 1
        trial, before = result.trial, self.judge.expectation
        original = situation if self.judge.at_mark is None else on_filled_memory(situation)
        again = self.run(original, Configuration(), Phase.OBSERVE)
        if again.trial.outcome is not Outcome.OK or self.judge.expectation is before:
            return result
        if not self.judge.prints_alike(Path(trial.stdout), settings):
            return result
        return self.run(
            situation, trial.configuration, trial.phase, pair=trial.pair, replicate=trial.replicate
        )

    def _noted(self, result: TrialResult) -> TrialResult:
        self._log.append_trial(result.trial)
        return result
