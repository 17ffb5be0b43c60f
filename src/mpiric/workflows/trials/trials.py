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
from mpiric.tuning.store.events import AMENDED
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.launch.spelling import render
from mpiric.workflows.trials.arming import Arming, MarkedRun, started_unix_s
from mpiric.workflows.trials.directory_runs import DirectoryRuns, DirectorySource, LaunchRunner
from mpiric.workflows.trials.failure_cause import FailureCause, LocalMachine, LostAllocationError
from mpiric.workflows.trials.file_times import FileArming
from mpiric.workflows.trials.filled_memory import on_filled_memory
from mpiric.workflows.trials.judge import OUTPUTS, Judge
from mpiric.workflows.trials.reliability import FAILURES, Reliability

_MOST_EXCUSES = 3  # in a row, when a host or the scheduler failed and not the run
_LEARNED_FROM = (Phase.OBSERVE, Phase.RECORD)  # whose outputs are kept, of the original
_PATIENCE = 3.0  # factor of the longest run so far, above which a run of the original hangs


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
    corrected: list[Trial]  # earlier trials that turned out otherwise, as they are now

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
        self.after_ended_run: Callable[[], None] = lambda: None  # called when a run did not end by itself
        self.around_runs_s = 0.0  # spent on directories and on looking at what runs left
        self._took_s: dict[int, float] = {}  # number of a trial → seconds with all that surrounds it
        self._excuses_left = _MOST_EXCUSES
        self._whole_s: list[float] = []  # the same, only of runs that nobody stopped
        self.corrected: list[Trial] = []
        self.reliability = Reliability()
        self._failed: list[Trial] = []  # rejected for a failure
        self._longest_s = 0.0  # longest of the original's runs so far
        for trial in log.read().trials:
            self.reliability.enter(trial)
        self._outputs = log.path / OUTPUTS
        self._outputs.mkdir(mode=0o700, exist_ok=True)

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

        A failure is repeated before it counts against a configuration, as the program may fail by itself; a
        difference of the output only counts when the original, run once more, still prints the same.

        Raises KeyboardInterrupt when the user stops it and LostAllocationError when a host is gone, both
        after noting the trial.
        """
        is_whole = self.judge.at_mark is None
        if is_whole and not configuration and stop_at is not None and stop_at > self._longest_s > 0:
            # It usually ends before: where it does not, it hangs, and is not slow.
            hangs_s = max(stop_at, _PATIENCE * self._longest_s)
            stop_at, limit_s = None, hangs_s if limit_s is None else min(limit_s, hangs_s)
        if self.reliability.is_known(Outcome.TIMED_OUT):
            stop_at = None
        failed: list[Trial] = []
        while True:
            result = self._run_once(
                situation, configuration, phase, limit_s, pair, replicate,
                observe=observe, carried=carried, early_end=early_end, stop_at=stop_at,
            )  # fmt: skip
            if result is None:
                continue  # a host or the scheduler failed, not the run
            trial = result.trial
            self.reliability.enter(trial)
            if trial.outcome not in FAILURES or trial.at_least is not None:
                break
            failed.append(trial)
            if not configuration or carried or not self.reliability.is_to_repeat(trial, len(failed)):
                break
        result = self._weighed(result, failed)
        if result.trial.number not in self.judge.disputes.runs or not self.judge.expectation:
            return result
        return self._doubted(result, situation)

    def _run_once(
        self,
        situation: Situation,
        configuration: Configuration,
        phase: Phase,
        limit_s: float | None,
        pair: int,
        replicate: int,
        *,
        observe: bool,
        carried: Spelling | None,
        early_end: EarlyEnd | None,
        stop_at: float | None,
    ) -> TrialResult | None:
        """Make one run and log it; return None if it is void because a host or the scheduler failed."""
        trial = self._begun(configuration, phase, pair, replicate)
        before = self.judge.expectation
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
            return None
        trial = self._noted(result).trial
        if trial.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        is_of_use = trial.outcome is Outcome.OK or trial.at_least is not None
        is_kept = phase is Phase.FINISH or (phase in _LEARNED_FROM and not configuration)
        if is_of_use and not is_kept:
            Path(trial.stdout).unlink(missing_ok=True)
            Path(trial.stderr).unlink(missing_ok=True)
        if before and any(now is not then for now, then in zip(self.judge.expectation, before, strict=True)):
            self._correct(self.judge.cleared())
        return result

    def watch_memory(self, situation: Situation) -> None:
        """Refuse later runs whose memory grows far beyond the original's."""
        self.judge.limit_memory(situation)

    @property
    def run_s(self) -> float:
        """Seconds of a whole run so far with all that surrounds it, on average; 0 before the first."""
        return mean(self._whole_s) if self._whole_s else 0.0

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
        if trial.outcome is Outcome.FAILED and armed and armed.holds_window(marks):
            trial = replace(trial, outcome=Outcome.OK, reason="", came_early=True)
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
        if not execution.came_early and execution.outcome is not Outcome.TIMED_OUT:
            self._whole_s.append(self._took_s[trial.number])
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
            reason=trial.reason or "stopped, as it was known to be much slower",
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

    def _weighed(self, result: TrialResult, failed: list[Trial]) -> TrialResult:
        """See whether failures are the command's own: then they count against no configuration."""
        trial = result.trial
        if not trial.configuration:
            if trial.outcome is Outcome.OK and trial.phase is not Phase.RECORD:
                self._longest_s = max(self._longest_s, trial.wall_s)
            for failure in failed:
                alike = [earlier for earlier in self._failed if earlier.outcome is failure.outcome]
                self._failed = [earlier for earlier in self._failed if earlier.outcome is not failure.outcome]
                self._correct([self._withdrawn(earlier) for earlier in alike])
            return result
        if not failed:
            return result
        if result.trial.outcome not in FAILURES and not self.reliability.is_unreliable(failed[-1]):
            self._correct([self._withdrawn(earlier) for earlier in failed])
            return result
        if result.trial.outcome not in FAILURES:
            result = result.ended(failed[-1].outcome, self.reliability.sentence(failed[-1]))
            self._correct([replace(result.trial, objective=None)])
        self._failed += [*failed, *([result.trial] if result.trial.number != failed[-1].number else [])]
        return result

    @staticmethod
    def _withdrawn(trial: Trial) -> Trial:
        return replace(
            trial,
            outcome=Outcome.INTERRUPTED,
            objective=None,
            reason=f"the command {trial.reason} by itself at times",
        )

    def _correct(self, trials: list[Trial]) -> None:
        """Note trials that turned out otherwise than they were noted."""
        for trial in trials:
            self._log.append(
                AMENDED,
                {
                    "number": trial.number,
                    "objective": trial.objective,
                    "outcome": trial.outcome.value,
                    "reason": trial.reason,
                },
            )
        self.corrected += trials

    def _doubted(self, result: TrialResult, situation: Situation) -> TrialResult:
        """Run the original again, before output counts against a configuration."""
        number = result.trial.number
        if not self.judge.disputes.may_rerun(number):
            return result
        original = situation if self.judge.at_mark is None else on_filled_memory(situation)
        self.run(original, Configuration(), Phase.OBSERVE)
        cleared = next((trial for trial in self.corrected if trial.number == number), None)
        return result if cleared is None else replace(result, trial=cleared)

    def _noted(self, result: TrialResult) -> TrialResult:
        self._log.append_trial(result.trial)
        return result
