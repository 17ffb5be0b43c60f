"""The jobs of a submission, followed while they run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.owned_files import append
from mpiric.model.allocation import BatchJob, End
from mpiric.model.count import number_of
from mpiric.schedulers import (
    LOG,
    OUTPUT,
    SCRIPT,
    STATUS,
    BatchScheduler,
    Patience,
    Submission,
    job_settings,
)
from mpiric.workflows.submit.array_rounds import JOBS, known_jobs, latest, submit_round
from mpiric.workflows.submit.log import RelayedLog
from mpiric.workflows.submit.progress import array_progress, state_of
from mpiric.workflows.submit.submission import SubmitRequest

_LATE_S = 30.0  # for the status of a job that has ended to be seen on this host


@dataclass(frozen=True)
class Reporting:
    """How the user hears of it: sentences of ours, and lines that the job prints."""

    say: Callable[[str], None]
    relay: Callable[[str], None]
    patience: Patience = field(default_factory=Patience)


@dataclass
class Follower:
    """Follows the jobs of a submission and passes on their log."""

    submission: Submission
    request: SubmitRequest
    scheduler: BatchScheduler
    host: Host
    reporting: Reporting
    over: set[str] = field(default_factory=set)  # jobs of which nothing more is to be heard
    ended: dict[str, BatchJob] = field(default_factory=dict)  # those followed last

    def __post_init__(self) -> None:
        self._log = RelayedLog(self.directory / LOG, self.reporting.relay)

    @property
    def directory(self) -> Path:
        """The directory of the submission."""
        return self.request.directory

    @property
    def output(self) -> str:
        """Text that the verb has printed on stdout; bytes that are not UTF-8 are surrogates."""
        try:
            return (self.directory / OUTPUT).read_bytes().decode(errors="surrogateescape")
        except OSError:
            return ""

    def pass_over_what_ended(self) -> None:
        """Leave out jobs that were over before anybody came to follow them."""
        if known := self.jobs():
            seen = self.scheduler.look(self.host, known, self.reporting.patience)
            self.over |= {job for job, each in seen.items() if each.is_over}

    def jobs(self) -> tuple[str, ...]:
        """Ids of all that were submitted."""
        return known_jobs(self.directory)

    def submit(self) -> None:
        """Submit the next round of arrays, or the job."""
        if self.request.spread:
            planned = latest(self.directory)
            submit_round(planned, self.request.spread, self.host, self.reporting.say, self.reporting.patience)
            return
        mark = f"{self.submission.name}-{len(self.jobs())}"
        settings = job_settings(self.directory, mark)
        job = self.scheduler.submit(
            self.host, str(self.directory / SCRIPT), settings, self.reporting.patience
        )
        append(self.directory / JOBS, f"{job}\n")
        self.reporting.say(f"submitted as job {job}; it goes on when this is ended")

    def follow(self) -> BatchJob | None:
        """Follow until no job is left, those that jobs submit included, passing on their log.

        Returns the job whose end tells most, None when there was none to follow.
        """
        reported = ""
        self.ended = {}
        sleep = self._log.relay_while(self.reporting.patience, self.scheduler.end_words)
        patience = replace(self.reporting.patience, sleep=sleep)
        while unfinished := [job for job in self.jobs() if job not in self.over]:
            seen: dict[str, BatchJob] = {}
            for each in self.scheduler.follow(self.host, unfinished, patience):
                self._log.relay()
                seen[each.job] = each
                progress = (
                    state_of(each)
                    if len(unfinished) == 1
                    else array_progress(latest(self.directory), self.scheduler, unfinished, seen)
                )
                if progress != reported and not (len(unfinished) == 1 and each.is_over):
                    self.reporting.say(progress)
                    reported = progress
            self.over |= set(unfinished)
            self.ended = seen
        self._log.relay()
        return max(self.ended.values(), key=self._weight, default=None)

    def _weight(self, job: BatchJob) -> tuple[bool, bool, int]:
        """A cancelled job tells most, then one that failed, then the last one."""
        return job.end is End.CANCELLED, not job.succeeded, self.jobs().index(job.job)

    def status(self) -> int | None:
        """Exit status of the verb, None before it has come to its end."""
        text = self._text(STATUS).strip()
        status = number_of(text, -1)
        return status if status >= 0 else None

    def awaited_status(self) -> int | None:
        """The status once it is seen: over NFS what a job has just written may be seen a little later."""
        for _ in _moments(_LATE_S, self.reporting.patience):
            status = self.status()
            if status is not None or not self._ended_by_itself():
                return status
        return None

    def _ended_by_itself(self) -> bool:
        return any(each.end in (End.COMPLETED, End.FAILED) for each in self.ended.values())

    def measured_bytes(self) -> int:
        """Size of all that trials and points have left."""
        return sum(path.stat().st_size for path in self.directory.rglob("*.jsonl"))

    def _text(self, name: str) -> str:
        try:
            return (self.directory / name).read_text(errors="replace")
        except OSError:
            return ""


def _moments(seconds: float, patience: Patience) -> Iterator[None]:
    until = patience.clock() + seconds
    yield
    while patience.clock() < until:
        patience.sleep(0.5)
        yield
