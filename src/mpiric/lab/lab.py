"""Lab: makes the runs of one job one at a time, and judges each before its time counts."""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from statistics import median_low

from mpiric.host.isolation.working_copies import WorkingCopies
from mpiric.host.processes.execution import Runner
from mpiric.lab.directory_runs import DirectoryRuns, UsersDirectory
from mpiric.lab.failures import FAILURES, AllocationHosts, LostAllocationError, Reliability
from mpiric.lab.judge import OUTPUTS, Judge
from mpiric.lab.probes import Probe, started_unix_s
from mpiric.lab.render import TUNABLES_VARIABLE, render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.record import ProcessState
from mpiric.model.run import Outcome, Phase, Plan, Result, Run, Split, Trial
from mpiric.model.situation import Situation
from mpiric.tuning.events import AMENDED
from mpiric.tuning.store import TuneLog

LOG = logging.getLogger(__package__)
_MOST_EXCUSES = 3  # repetitions in a row after a failure of a host or the scheduler
_LEARNED_FROM = (Phase.OBSERVE, Phase.RECORD)  # phases whose baseline outputs are kept
_LOOKED_AT = (*_LEARNED_FROM, Phase.FINISH)  # phases whose ranks and step markers are returned
_FILLED = "glibc.malloc.perturb=85"
_PATIENCE = 3.0  # multiple of the longest run so far, after which a run of the baseline is considered hanging


class Lab:
    """Makes, judges and logs runs; each trial is logged before it is returned."""

    situation: Situation  # situation of the job; must be set before the first run

    def __init__(
        self,
        runner: Runner,
        directories: WorkingCopies | UsersDirectory,
        log: TuneLog,
        judge: Judge,
        hosts: AllocationHosts | None = None,
    ) -> None:
        self.judge = judge
        self.probes: dict[Phase, Probe] = {}  # method of measurement by phase; default: the complete run
        self.runs = DirectoryRuns(runner, directories)
        self.log = log
        self._hosts = hosts
        # Describes the ranks of a run that did not end in time.
        self.describe_states: Callable[[Mapping[str, ProcessState]], str] = lambda _: ""
        self.block = ""  # name of a series of runs on the same nodes; "" for a single job
        self.after_ended_run: Callable[[], None] = lambda: None  # called when a run did not end by itself
        self.around_runs_s = 0.0  # spent on directories and on looking at what runs left
        self._excuses_left = _MOST_EXCUSES
        self._whole_s: list[float] = []  # durations of complete runs, including setup and clean-up
        self.corrected: list[Trial] = []  # earlier trials whose judgement changed
        self.reliability = Reliability()
        self._failed: list[Trial] = []  # trials that were rejected for a failure
        self._longest_s = 0.0  # longest run of the baseline so far
        self.earlier = log.read().trials  # trials of earlier sessions
        self.count = len(self.earlier)
        for trial in self.earlier:
            self.reliability.enter(trial)
        self._outputs = log.path / OUTPUTS
        self._outputs.mkdir(mode=0o700, exist_ok=True)

    def measure(self, run: Run) -> Trial:
        """Make a run; its time is the objective, unless the run is rejected.

        A failure is repeated before it counts against a configuration, because the program may fail by
        itself. A difference in the output counts only if another run of the baseline still prints the same.
        With ``stop_at`` a stopped run is valid too.

        Raises KeyboardInterrupt if the user stops it and LostAllocationError if a host is lost, both after
        logging the trial.
        """
        before = self.count
        is_whole = self.judge.at_mark is None
        if (
            is_whole
            and not run.configuration
            and run.stop_at is not None
            and run.stop_at > self._longest_s > 0
        ):
            # It usually ends before; otherwise it hangs and is not merely slow.
            hangs_s = max(run.stop_at, _PATIENCE * self._longest_s)
            limit_s = hangs_s if run.limit_s is None else min(run.limit_s, hangs_s)
            run = replace(run, stop_at=None, limit_s=limit_s)
        if self.reliability.is_known(Outcome.TIMED_OUT):
            run = replace(run, stop_at=None)
        failed: list[Trial] = []
        while True:
            trial = self._attempt(run)
            if trial is None:
                continue  # a host or the scheduler failed, not the run
            self.reliability.enter(trial)
            if trial.outcome not in FAILURES or trial.at_least is not None:
                break
            failed.append(trial)
            is_repeated = bool(run.configuration) and run.probe is None
            if not is_repeated or not self.reliability.is_to_repeat(trial, len(failed)):
                break
        trial = self._weighed(trial, failed)
        if trial.number in self.judge.disputes.runs and self.judge.expectation:
            trial = self._doubted(trial)
        return replace(trial, runs=self.count - before)

    def _attempt(self, run: Run) -> Trial | None:
        """Make one run and log it; return None if it is void because a host or the scheduler failed."""
        self.count += 1
        trial = Trial(
            run.configuration,
            run.phase,
            Outcome.REFUSED,
            0.0,
            started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            number=self.count,
            pair=run.pair,
            replicate=run.replicate,
            block=self.block,
        )
        situation, expected = run.situation or self.situation, self.judge.expectation
        limit_s, stem = run.limit_s, self._outputs / str(trial.number)
        if run.stop_at is not None and self.judge.at_mark is None:
            limit_s = min(run.stop_at, inf if limit_s is None else limit_s)
        probe = run.probe if isinstance(run.probe, Probe) else self.probes.get(run.phase, Probe())
        probe = probe.begin(stem, None if run.stop_at is None else partial(self._is_above, run.stop_at))
        try:
            launch = render(run.configuration, situation, probe.spelling())
        except MpiricError as error:
            return self._noted(replace(trial, reason=error.message))

        LOG.info("run %d (%s): %s", self.count, run.phase.value, run.configuration)
        start_s = time.monotonic()
        early_end, environment = probe.early_end, situation.job.environment
        directory, execution = self.runs.execute(
            launch, environment, stem, limit_s, observe=run.observe, early_end=early_end
        )
        marks = probe.marks(execution)
        copied, original = str(directory.path), situation.job.working_directory
        states = {key: state.moved(copied, original) for key, state in execution.states.items()}
        doing = self.describe_states(states) if states and run.stop_at is None else ""
        is_late = execution.outcome is Outcome.TIMED_OUT
        trial = replace(
            trial,
            stdout=str(stem.with_suffix(".stdout")),
            stderr=str(stem.with_suffix(".stderr")),
            outcome=execution.outcome,
            wall_s=execution.wall_s,
            ended_unix_s=started_unix_s(execution) + execution.wall_s if execution.started_ns else 0.0,
            exit_status=execution.exit_status,
            reason=": ".join(filter(None, (execution.reason, doing if is_late else ""))),
            doing=doing,
            rss_peak_bytes=execution.rss_peak_bytes,
            split=probe.split(marks, execution),
            came_early=execution.came_early,
            disturbed=execution.disturbed,
            ranks=execution.ranks,
            marks=marks,
        )
        if run.stop_at is not None and (execution.outcome is Outcome.TIMED_OUT or probe.was_stopped):
            stopped_after_s = execution.wall_s if limit_s is None else limit_s
            split = probe.split(marks, execution, stopped_after_s)
            trial = replace(
                trial,
                outcome=Outcome.TIMED_OUT,
                reason=trial.reason or "stopped, as it was known to be much slower",
                split=split,
                at_least=stopped_after_s if self.judge.at_mark is None else self.judge.least(split),
                came_early=False,
            )
        if trial.outcome is Outcome.FAILED and probe.holds_window(marks):
            trial = replace(trial, outcome=Outcome.OK, reason="", came_early=True)
        probe.remove()
        trial = self.runs.make_durable(trial, situation, directory, read_back=self.judge.until_safe)
        until_safe_s = max(0.0, time.monotonic() - start_s - execution.wall_s)
        if trial.outcome is Outcome.OK:
            trial = self.judge.judge(trial, launch, situation, directory)
        around_s = max(0.0, time.monotonic() - start_s - execution.wall_s)
        self.around_runs_s += around_s
        keeps_copies = run.phase in _LEARNED_FROM and not run.configuration  # later runs do not keep copies
        trial = replace(trial, took_s=execution.wall_s + (until_safe_s if keeps_copies else around_s))
        if not execution.came_early and execution.outcome is not Outcome.TIMED_OUT:
            self._whole_s.append(trial.took_s)

        if trial.outcome is not Outcome.OK or early_end is not None:
            self.after_ended_run()
        if self._is_excused(trial):
            return None
        self._noted(trial)
        if trial.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        is_of_use = trial.outcome is Outcome.OK or trial.at_least is not None
        is_kept = probe.keeps_output or run.phase is Phase.FINISH or keeps_copies
        if is_of_use and not is_kept:
            Path(trial.stdout).unlink(missing_ok=True)
            Path(trial.stderr).unlink(missing_ok=True)
        if expected and any(
            new is not old for new, old in zip(self.judge.expectation, expected, strict=True)
        ):
            self._correct(self.judge.cleared())
        return trial if run.phase in _LOOKED_AT else replace(trial, ranks=(), marks=None)

    @property
    def run_s(self) -> float:
        """Return the typical duration of complete runs, including setup and clean-up; 0 before the first.

        It is the lower median: a first run that compiles or fills caches is much longer than all others.
        """
        return median_low(self._whole_s) if self._whole_s else 0.0

    @property
    def next_stdout(self) -> Path:
        """Return the output path of the next run."""
        return self._outputs / f"{self.count + 1}.stdout"

    def _is_above(self, objective: float, per_mark_s: float) -> bool:
        bound = self.judge.least(Split(0.0, per_mark_s=per_mark_s))
        return bound is not None and bound >= objective

    def _is_excused(self, trial: Trial) -> bool:
        """Return whether to repeat the run, because the program was not the cause of its failure."""
        if trial.outcome not in (Outcome.FAILED, Outcome.TIMED_OUT):
            self._excuses_left = _MOST_EXCUSES
            return False
        try:
            excuse = self._hosts.excuse(Path(trial.stderr)) if self._hosts and self._excuses_left else ""
        except LostAllocationError as lost:
            self._noted(replace(trial, outcome=Outcome.INTERRUPTED, reason=lost.message))
            if self._hosts:
                self._hosts.leave()
            raise
        if excuse:
            self._excuses_left -= 1
            self._noted(replace(trial, outcome=Outcome.INTERRUPTED, reason=excuse))
        return bool(excuse)

    def _weighed(self, trial: Trial, failed: list[Trial]) -> Trial:
        """Check if failures are the command's own: then they count against no configuration."""
        if not trial.configuration:
            if trial.outcome is Outcome.OK and trial.phase is not Phase.RECORD:
                self._longest_s = max(self._longest_s, trial.wall_s)
            for failure in failed:
                alike = [earlier for earlier in self._failed if earlier.outcome is failure.outcome]
                self._failed = [earlier for earlier in self._failed if earlier.outcome is not failure.outcome]
                self._correct([_withdrawn(earlier) for earlier in alike])
            return trial
        if not failed:
            return trial
        if trial.outcome not in FAILURES and not self.reliability.is_unreliable(failed[-1]):
            self._correct([_withdrawn(earlier) for earlier in failed])
            return trial
        if trial.outcome not in FAILURES:
            reason = self.reliability.sentence(failed[-1])
            trial = replace(trial, outcome=failed[-1].outcome, reason=reason)
            self._correct([replace(trial, objective=None)])
        self._failed += [*failed, *([trial] if trial.number != failed[-1].number else [])]
        return trial

    def _correct(self, trials: list[Trial]) -> None:
        """Log trials whose judgement changed."""
        for trial in trials:
            LOG.info("run %d counts otherwise: %s: %s", trial.number, trial.outcome.value, trial.reason)
            amended = {"objective": trial.objective, "outcome": trial.outcome.value, "reason": trial.reason}
            self.log.append(AMENDED, {"number": trial.number, **amended})
        self.corrected += trials

    def _doubted(self, trial: Trial) -> Trial:
        """Run the baseline again before a different output counts against a configuration."""
        if not self.judge.disputes.may_rerun(trial.number):
            return trial
        filled = None if self.judge.at_mark is None else on_filled_memory(self.situation)
        self.measure(Run(Configuration(), Phase.OBSERVE, situation=filled))
        return next((cleared for cleared in self.corrected if cleared.number == trial.number), trial)

    def _noted(self, trial: Trial) -> Trial:
        objective = "none" if trial.objective is None else f"{trial.objective:.4g}"
        reason = f": {trial.reason}" if trial.reason else ""
        LOG.info("run %d: %s, objective %s%s", trial.number, trial.outcome.value, objective, reason)
        self.log.append_trial(trial)
        return trial


def _withdrawn(trial: Trial) -> Trial:
    reason = f"the command {trial.reason} by itself at times"
    return replace(trial, outcome=Outcome.INTERRUPTED, objective=None, reason=reason)


def on_filled_memory(situation: Situation) -> Situation:
    """Return the situation with glibc filling memory when it is allocated and freed.

    Fresh pages are zero, reused memory is not. A program that sends uninitialised corners of rows sends
    different bytes with different allocators, although its results are equal.
    """
    environment = situation.job.environment
    tunables = environment.get(TUNABLES_VARIABLE)
    filled = {**environment, TUNABLES_VARIABLE: f"{tunables}:{_FILLED}" if tunables else _FILLED}
    return replace(situation, job=replace(situation.job, environment=filled))


class LoggedTrials:
    """Trials that an earlier session has logged; each answers one run of a plan that asks for it again.

    Half a pair of a proof answers none: the machine may have become faster meanwhile.
    """

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        complete = [trial for trial in trials if trial.outcome is not Outcome.INTERRUPTED]
        pairs = Counter((trial.pair, trial.replicate) for trial in complete)
        runs = Counter(trial.pair for trial in complete)
        compared = {trial.pair for trial in complete if not trial.configuration or runs[trial.pair] == 1}
        self._trials: dict[tuple[Phase, Configuration, int, int], list[Trial]] = defaultdict(list)
        rounds: dict[Configuration, dict[int, None]] = defaultdict(dict)
        for trial in complete:
            key = trial.phase, trial.configuration, trial.pair, trial.replicate
            if trial.phase is Phase.PROOF:
                is_half = trial.replicate >= 0 and pairs[trial.pair, trial.replicate] == 1
                if is_half and trial.pair in compared and trial.outcome is Outcome.OK:
                    continue
                self._trials[key].clear()  # it was half of a pair
                if trial.configuration and trial.replicate >= 0:
                    rounds[trial.configuration][trial.pair] = None
            self._trials[key].append(trial)
        self._rounds = {answer: iter(numbers) for answer, numbers in rounds.items()}
        self._fresh_rounds = count(1 + max((trial.pair for trial in complete), default=-1))
        self.passed_s = 0.0  # wall time of the trials taken

    def take(self, run: Run) -> Trial | None:
        """Return the trial of a run and forget it; None if there is none."""
        trials = self._trials.get((run.phase, run.configuration, run.pair, run.replicate))
        if not trials:
            return None
        trial = trials.pop(0)
        self.passed_s += trial.wall_s
        return trial

    def round_of(self, answer: Configuration) -> int:
        """Return the number of the next round of an answer's proof: a logged one, else a fresh one."""
        logged = next(self._rounds.get(answer, iter(())), None)
        return next(self._fresh_rounds) if logged is None else logged


def drive(
    plan: Plan[Result],
    measure: Callable[[Run], Trial],
    report: Callable[[Trial], None] = lambda _: None,
    logged: LoggedTrials | None = None,
) -> Result:
    """Make the runs that a plan asks for, and return its result; ``report`` sees each trial that is made.

    Trials that are ``logged`` are sent instead of making the run again: this resumes a plan.

    An interruption, or the error of a run that could not be made, is thrown into the plan, which may return
    a partial result. After the loss of the allocation no further run is made.
    """
    logged = logged or LoggedTrials()
    try:
        run = next(plan)
        while True:
            trial = logged.take(run)
            if trial is None:
                try:
                    trial = measure(run)
                except (KeyboardInterrupt, MpiricError, OSError) as error:
                    run = plan.throw(error)
                    if isinstance(error, LostAllocationError):
                        raise
                    continue
                report(trial)
            run = plan.send(trial)
    except StopIteration as end:
        result: Result = end.value
        return result
