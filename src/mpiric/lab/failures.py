"""Failed and rejected runs: their causes, and rejections that a later run of the original withdraws.

A value that varies between runs may have been equal in all original runs so far. Whenever a run of the
original produces a different output, the rejected runs are compared again.
"""

import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from math import comb
from pathlib import Path

from mpiric.host.host import Host
from mpiric.lab.endings import read_tail
from mpiric.model.amount import counted
from mpiric.model.batch import Allocation
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.model.run import Outcome, Trial
from mpiric.outputs.equivalence import AcceptedDifferences
from mpiric.schedulers import NAME_VARIABLE, BatchScheduler, Patience, batch_schedulers, find_allocation
from mpiric.tuning.events import AMENDED
from mpiric.tuning.store import TuneLog

_KILLED_WITHIN_S = 900.0  # maximum time since the job was requeued


class LostAllocationError(MpiricError):
    """A host of the allocation is lost; no further measurement is possible in it."""

    exit_code = ExitCode.NOT_FOUND


class AllocationHosts:
    """The hosts of an allocation, and its scheduler: possible causes of a failed run."""

    def __init__(
        self, scheduler: BatchScheduler, host: Host, allocation: Allocation, patience: Patience | None = None
    ) -> None:
        self._scheduler, self._host = scheduler, host
        self._allocation, self._patience = allocation, patience
        self._foreign_steps = scheduler.steps(host, allocation.job)

    def excuse(self, stderr: Path) -> str:
        """Return why the configuration is not the cause, "" if it is. Raises LostAllocationError."""
        cause = self._scheduler.why_it_failed(
            self._host, self._allocation, read_tail(stderr), self._patience, self._foreign_steps
        )
        if cause.lost_hosts:
            raise LostAllocationError(
                f"allocation {self._allocation.job} has lost {' and '.join(cause.lost_hosts)}",
                hint="measurements are kept: continue with --resume in another allocation",
            )
        return cause.excuse

    def leave(self) -> None:
        """Requeue a job of ``--submit``, so that it restarts on working hosts, and wait for its end."""
        job = self._scheduler.own_job(self._host.environ)
        if self._host.environ.get(NAME_VARIABLE) and self._scheduler.requeue(self._host, job):
            time.sleep(_KILLED_WITHIN_S)


def allocation_hosts(host: Host) -> AllocationHosts | None:
    """Return the hosts of this process's allocation; None outside: this machine is never the cause."""
    try:
        allocation = find_allocation(host)
    except MpiricError:
        return None  # inconsistent allocations are reported elsewhere
    scheduler = batch_schedulers().get(allocation.scheduler)
    return AllocationHosts(scheduler, host, allocation) if scheduler else None


FAILURES = (Outcome.FAILED, Outcome.TIMED_OUT)
_CHANCE = 0.02  # probability of a series of failures of the original; below it, the setting is the cause
_MOST_RUNS = 4  # runs of one configuration before it is rejected
_LATE = 2  # time-outs that are examined; without any failure of the original further ones are slow runs


@dataclass
class Reliability:
    """Runs and failures of the original, and of each configuration."""

    runs: Counter[Configuration] = field(default_factory=Counter)
    failures: Counter[tuple[Configuration, Outcome]] = field(default_factory=Counter)
    _late: int = 0  # number of examined time-outs

    def enter(self, trial: Trial) -> None:
        """Count a run, unless it was stopped because the other run of its pair is faster."""
        if trial.at_least is None and trial.outcome not in (Outcome.REFUSED, Outcome.INTERRUPTED):
            self.runs[trial.configuration] += 1
            if trial.outcome in FAILURES:
                self.failures[trial.configuration, trial.outcome] += 1

    def is_known(self, outcome: Outcome) -> bool:
        """Return whether the original was seen to fail in this way."""
        return self.failures[Configuration(), outcome] > 0

    def is_to_repeat(self, trial: Trial, in_a_row: int) -> bool:
        """Return whether to repeat a configuration that failed ``in_a_row`` times before that counts."""
        if in_a_row >= _MOST_RUNS:
            return False
        if trial.outcome is Outcome.TIMED_OUT and not self.is_known(trial.outcome):
            self._late += in_a_row == 1
            return in_a_row == 1 and self._late <= _LATE
        original = Configuration()
        rate = (self.failures[original, trial.outcome] + 1) / (self.runs[original] + 2)
        return bool(rate**in_a_row >= _CHANCE)

    def is_unreliable(self, trial: Trial) -> bool:
        """Return whether a configuration fails more often than the original, though not in every run."""
        original, failures = Configuration(), self.failures[trial.configuration, trial.outcome]
        rate = (self.failures[original, trial.outcome] + 1) / (self.runs[original] + 2)
        runs = self.runs[trial.configuration]
        fewer = sum(comb(runs, n) * rate**n * (1 - rate) ** (runs - n) for n in range(failures))
        return 1 - fewer < _CHANCE

    def sentence(self, trial: Trial) -> str:
        """Return a sentence on the failure counts of a configuration and of the original."""
        failures, original = self.failures[trial.configuration, trial.outcome], Configuration()
        return (
            f"{trial.reason} in {failures} of {counted(self.runs[trial.configuration], 'run')}, "
            f"the command as it is in {self.failures[original, trial.outcome]} of {self.runs[original]}"
        )

    @property
    def of_command(self) -> tuple[str, ...]:
        """Return sentences on the failures of the original."""
        original = Configuration()
        runs = self.runs[original]
        descriptions = {Outcome.TIMED_OUT: "did not end", Outcome.FAILED: "failed"}
        return tuple(
            f"the command itself {descriptions[outcome]} in {count} of {counted(runs, 'run')}"
            for outcome in FAILURES
            if (count := self.failures[original, outcome])
        )


_KEPT_BYTES = 256 << 20  # total size of the kept files of rejected runs
_SUFFIX = ".rejected"
MANY = 10  # number of configurations that differ at one place; it is then doubtful if the place is a result
_RERUNS = 3  # reruns of the original for one place that differs
_MOST_RERUNS = 12


@dataclass(frozen=True)
class RejectedRun:
    """Record of a run that was rejected for its output."""

    trial: Trial  # trial with its objective, for a withdrawn rejection
    place: str  # part of the output that differs from the original
    files: Mapping[str, Path]
    accepted: AcceptedDifferences


@dataclass
class Disputes:
    """Rejected runs by trial number, and the number of reruns of the original for each place."""

    runs: dict[int, RejectedRun] = field(default_factory=dict)
    _reruns: Counter[str] = field(default_factory=Counter)
    _kept_bytes: int = 0

    def add(self, run: RejectedRun) -> None:
        """Keep a rejected run, with copies of its files within the size limit."""
        place = Path(run.trial.stdout).with_suffix(_SUFFIX)
        sizes = {name: path.stat().st_size for name, path in run.files.items()}
        if self._kept_bytes + sum(sizes.values()) > _KEPT_BYTES:
            return
        self._kept_bytes += sum(sizes.values())
        files = {}
        for name, path in run.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            files[name] = Path(shutil.copyfile(path, place / name))
        self.runs[run.trial.number] = replace(run, files=files)

    def may_rerun(self, number: int) -> bool:
        """Return whether to run the original again before this run is rejected, and count the rerun."""
        run = self.runs.get(number)
        place = run.place if run else "(files that were too large to keep)"
        if self._reruns[place] >= _RERUNS or self._reruns.total() >= _MOST_RERUNS:
            return False
        self._reruns[place] += 1
        return True

    def cleared(self, agrees: Callable[[RejectedRun], bool]) -> list[Trial]:
        """Remove and return the runs that agree with the original after all."""
        agreeing = [run for run in self.runs.values() if agrees(run)]
        for run in agreeing:
            del self.runs[run.trial.number]
        return [run.trial for run in agreeing]

    def in_question(self) -> dict[str, list[RejectedRun]]:
        """Map each place to its runs, if too many configurations differ there for a result."""
        by_place: dict[str, list[RejectedRun]] = defaultdict(list)
        for run in self.runs.values():
            by_place[run.place].append(run)
        return {
            place: runs
            for place, runs in by_place.items()
            if len({run.trial.configuration for run in runs}) >= MANY
        }


def withdraw_rejections(log: TuneLog) -> None:
    """Mark runs that were rejected for their output for another judgement, by another rule."""
    for trial in log.read().trials:
        if trial.outcome is Outcome.DIFFERENT:
            amended = {"outcome": Outcome.INTERRUPTED.value, "reason": "is judged again with --ignore-lines"}
            log.append(AMENDED, {"number": trial.number, "objective": None, **amended})


def remove_rejected(outputs: Path) -> None:
    """Remove the copies of files of rejected runs."""
    for directory in outputs.glob(f"*{_SUFFIX}"):
        shutil.rmtree(directory, ignore_errors=True)
