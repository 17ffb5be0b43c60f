"""Trials: runs configurations of one job, one at a time, and judges each run before its time counts."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from mpiric.host.isolation.working_copies import TrialDirectory, WorkingCopies
from mpiric.host.processes.execution import Execution, Runner
from mpiric.model.configuration import Configuration
from mpiric.model.count import count_of
from mpiric.model.errors import MpiricError
from mpiric.model.launch import Launch
from mpiric.model.situation import RankSeen, Situation
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.equivalence.output_equivalence import Disagreement, Expectation, learn
from mpiric.tuning.equivalence.output_files import FilesExpectation, Stamps, learn_files, written
from mpiric.tuning.objective import Objective, value_of
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.launch.spelling import render
from mpiric.workflows.trials.failure_cause import FailureCause, LocalMachine, LostAllocationError

_CHECK_LIMIT_S = 600
_MOST_EXCUSES = 3  # in a row, when a host or the scheduler failed and not the run
_MOST_RERUNS = 3  # of the original, when a run is about to be rejected for its output
_KEPT_BYTES = 512 << 20  # of an original's output files
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{4,}")
_MEMORY_FACTOR, _MEMORY_SLACK_BYTES = 1.5, 256 << 20  # what a knob may cost in memory before it is refused


@dataclass
class Judge:
    """What a run is held against; learned from runs of the original, which pass while it is empty."""

    objective: Objective
    check_command: str = ""  # the user's own judge, run in the trial's directory
    printed: Expectation | None = None  # None: not compared
    written: FilesExpectation | None = None
    rounding: bool = False
    rss_limit_bytes: int = 0  # of one process; 0: not watched
    stdout_of_original: str = ""


@dataclass(frozen=True)
class TrialResult:
    """A judged trial, and what was seen of its ranks."""

    trial: Trial
    ranks: tuple[RankSeen, ...]


class Runs(Protocol):
    """Where runs come from: made when asked for (`Trials`), or put down to be made (`LookaheadTrials`)."""

    count: int  # of runs so far

    def run(
        self,
        situation: Situation,
        configuration: Configuration,
        phase: Phase,
        limit_s: float | None = None,
        pair: int = -1,
    ) -> TrialResult:
        """One run of a configuration."""
        ...

    def watch_memory(self, situation: Situation) -> None:
        """From now on refuse runs whose memory grows far beyond the original's."""
        ...


class Trials:
    """Runs and judges; every trial is in the store before anyone hears of it."""

    def __init__(
        self,
        runner: Runner,
        copies: WorkingCopies,
        tune: TuneLog,
        judge: Judge,
        failure_cause: FailureCause | None = None,
        block: str = "",
    ) -> None:
        self._runner, self._copies, self._tune = runner, copies, tune
        self._failure_cause, self._block = failure_cause or LocalMachine(), block
        self._excuses_left = _MOST_EXCUSES
        self.judge = judge
        self._outputs = tune.path / "outputs"
        self._outputs.mkdir(exist_ok=True)
        self.count = len(tune.read().trials)
        self._reruns_left = _MOST_RERUNS

    def run(
        self,
        situation: Situation,
        configuration: Configuration,
        phase: Phase,
        limit_s: float | None = None,
        pair: int = -1,
        *,
        observe: bool = False,
    ) -> TrialResult:
        """Run one configuration; again when what it stands on failed under it.

        Raises KeyboardInterrupt when the user stops it and LostAllocationError when a host is gone, both
        after noting the trial.
        """
        self.count += 1
        begun = datetime.now(timezone.utc).isoformat(timespec="seconds")
        trial = Trial(
            configuration,
            phase,
            Outcome.REFUSED,
            0.0,
            started_at=begun,
            number=self.count,
            pair=pair,
            block=self._block,
        )
        try:
            launch = render(configuration, situation)
        except MpiricError as error:
            return self._noted(TrialResult(replace(trial, reason=error.message), ()))
        directory = self._copies.fresh()
        trial = replace(
            trial,
            stdout=str(self._outputs / f"{self.count}.stdout"),
            stderr=str(self._outputs / f"{self.count}.stderr"),
        )
        execution = self._runner.execute(
            launch,
            situation.job.environment,
            directory.path,
            trial.stdout,
            trial.stderr,
            limit_s,
            observe=observe,
        )
        result = self._judged(trial, execution, launch, situation, directory)
        if self._excused(result):
            return self.run(situation, configuration, phase, limit_s, pair, observe=observe)
        self._noted(result)
        if result.trial.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if result.trial.outcome is Outcome.OK and phase is not Phase.OBSERVE:
            Path(trial.stdout).unlink(missing_ok=True)
            Path(trial.stderr).unlink(missing_ok=True)
        if result.trial.outcome is Outcome.DIFFERENT and self._reruns_left and self.judge.printed is not None:
            return self._doubted(result, situation, _set_by(launch))
        return result

    def _excused(self, result: TrialResult) -> bool:
        """Whether the run is to be made again, because it was not the program that failed."""
        if result.trial.outcome not in (Outcome.FAILED, Outcome.TIMED_OUT):
            self._excuses_left = _MOST_EXCUSES
            return False
        try:
            excuse = self._failure_cause.excuse(Path(result.trial.stderr)) if self._excuses_left else ""
        except LostAllocationError as lost:
            self._noted(
                TrialResult(
                    replace(result.trial, outcome=Outcome.INTERRUPTED, reason=lost.message), result.ranks
                )
            )
            self._failure_cause.leave()
            raise
        if excuse:
            self._excuses_left -= 1
            self._noted(
                TrialResult(replace(result.trial, outcome=Outcome.INTERRUPTED, reason=excuse), result.ranks)
            )
        return bool(excuse)

    def _doubted(self, result: TrialResult, situation: Situation, settings: tuple[str, ...]) -> TrialResult:
        """Before output counts against a configuration: see whether the original always prints the same."""
        self._reruns_left -= 1
        printed, output = self.judge.printed, Path(result.trial.stdout)
        again = self.run(situation, Configuration(), Phase.OBSERVE)
        if (
            again.trial.outcome is not Outcome.OK
            or self.judge.printed is printed
            or self.judge.printed is None
        ):
            return result
        if self.judge.printed.compare(output, rounding=self.judge.rounding, settings=settings) is not None:
            return result
        return self.run(situation, result.trial.configuration, result.trial.phase, pair=result.trial.pair)

    def watch_memory(self, situation: Situation) -> None:
        """From now on refuse runs whose memory grows far beyond the original's."""
        observation, memory = situation.observation, situation.machine.memory
        whole = min(memory.total_bytes, memory.limit_bytes or memory.total_bytes)
        self.judge.rss_limit_bytes = memory_limit(whole, observation.rss_peak_bytes, len(observation.ranks))

    def _noted(self, result: TrialResult) -> TrialResult:
        self._tune.append_trial(result.trial)
        return result

    def _judged(
        self,
        trial: Trial,
        execution: Execution,
        launch: Launch,
        situation: Situation,
        directory: TrialDirectory,
    ) -> TrialResult:
        trial = replace(
            trial,
            outcome=execution.outcome,
            wall_s=execution.wall_s,
            exit_status=execution.exit_status,
            reason=execution.reason,
            rss_peak_bytes=execution.rss_peak_bytes,
        )
        if execution.outcome is not Outcome.OK:
            return TrialResult(trial, execution.ranks)
        if trial.phase is Phase.OBSERVE:
            self._keep_files(trial, directory)
        complaint = self._complaint(trial, directory, situation, _set_by(launch))
        if complaint is not None:
            outcome, reason = complaint
            return TrialResult(replace(trial, outcome=outcome, reason=reason), execution.ranks)
        try:
            objective = value_of(
                self.judge.objective,
                execution.wall_s,
                cores_used(launch, situation, execution.ranks),
                Path(trial.stdout),
                directory.path,
                situation.job.environment,
            )
        except MpiricError as error:
            return TrialResult(replace(trial, outcome=Outcome.FAILED, reason=error.message), execution.ranks)
        return TrialResult(replace(trial, objective=objective), execution.ranks)

    def _complaint(
        self, trial: Trial, directory: TrialDirectory, situation: Situation, settings: tuple[str, ...]
    ) -> tuple[Outcome, str] | None:
        judge = self.judge
        if judge.rss_limit_bytes and trial.rss_peak_bytes > judge.rss_limit_bytes:
            grown, limit = trial.rss_peak_bytes >> 20, judge.rss_limit_bytes >> 20
            return Outcome.GREEDY, f"a process grew to {grown} MiB, more than the {limit} MiB allowed"
        difference = self._difference(trial, directory, settings)
        if difference is not None:
            return Outcome.DIFFERENT, str(difference)
        if judge.check_command:
            return self._checked(trial, directory, situation)
        return None

    def _difference(
        self, trial: Trial, directory: TrialDirectory, settings: tuple[str, ...]
    ) -> Disagreement | None:
        """What differs from the original's output; a run of the original itself only teaches."""
        judge, printed = self.judge, Path(trial.stdout)
        wrong = None
        if judge.printed:
            wrong = judge.printed.compare(printed, rounding=judge.rounding, settings=settings)
        if wrong is not None and judge.printed is not None and not trial.configuration:
            judge.printed, wrong = judge.printed.widened(printed), None
        if wrong is None and judge.written is not None and trial.configuration:
            wrong = judge.written.compare(
                directory.path, _stamps(directory), rounding=judge.rounding, settings=settings
            )
        return wrong

    def _keep_files(self, trial: Trial, directory: TrialDirectory) -> None:
        """Copy what a run of the original wrote, as long as it is not too much, to learn from it."""
        place = self._outputs / f"{trial.number}.files"
        place.mkdir(exist_ok=True)
        left = _KEPT_BYTES
        for name, path in written(directory.path, _stamps(directory)).items():
            left -= path.stat().st_size
            if left >= 0:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place / name)

    def learn_output(self, originals: Sequence[Trial]) -> None:
        """From now on every run must print and write what these runs of the original have in common."""
        self.judge.printed = learn([Path(trial.stdout) for trial in originals])
        self.judge.written = learn_files([self._outputs / f"{trial.number}.files" for trial in originals])

    def _checked(
        self, trial: Trial, directory: TrialDirectory, situation: Situation
    ) -> tuple[Outcome, str] | None:
        """Ask the user's own judge: in the trial's directory, with the outputs' paths in the environment."""
        command = self.judge.check_command
        environment = {
            **situation.job.environment,
            "MPIRIC_STDOUT": trial.stdout,
            "MPIRIC_STDERR": trial.stderr,
            "MPIRIC_ORIGINAL_STDOUT": self.judge.stdout_of_original or trial.stdout,
        }
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=directory.path,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_CHECK_LIMIT_S,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome.DIFFERENT, f"the check {shlex.quote(command)} did not end in {_CHECK_LIMIT_S} s"
        if done.returncode == 0:
            return None
        words = (done.stderr or done.stdout).strip().splitlines()
        said = f": {words[-1]}" if words else ""
        return Outcome.DIFFERENT, f"the check {shlex.quote(command)} said no (status {done.returncode}){said}"


def _set_by(launch: Launch) -> tuple[str, ...]:
    """Environment variables that a launch sets, wherever it writes them."""
    named = {*launch.environment, *launch.unset, *(setting.name for setting in launch.settings)}
    return tuple(sorted(name for name in named if _VARIABLE.fullmatch(name)))


def _stamps(directory: TrialDirectory) -> Stamps:
    return {name: (size, mtime_ns) for name, (_, size, mtime_ns) in directory.before.items()}


def memory_limit(machine_bytes: int, original_bytes: int, ranks: int) -> int:
    """Resident bytes one process may reach: half as much again as the original, within the machine."""
    generous = int(original_bytes * _MEMORY_FACTOR) + _MEMORY_SLACK_BYTES
    return min(generous, max(original_bytes, int(machine_bytes * 0.9 / max(1, ranks))))


def cores_used(launch: Launch, situation: Situation, ranks: tuple[RankSeen, ...]) -> int:
    """Cores a run keeps from others: whole nodes when there are several, else ranks × threads, capped."""
    cores = situation.machine.usable_cpu_count
    if situation.nodes > 1:
        return cores * situation.nodes
    count = len(ranks) or len(situation.observation.ranks) or situation.job.ranks or 1
    said = {**situation.job.environment, **launch.environment}.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, count * max(1, count_of(said))))
