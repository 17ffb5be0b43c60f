"""Run a verb of mpiric as jobs of a scheduler, and follow them to their end through whatever happens to them.

Ordinarily the job is a whole tune (or profile, or sweep): its trials are job steps of one allocation, so
that what is compared ran on the same nodes, minutes apart. The verb keeps its own state in its directory; a
job that ends before the verb has is submitted again and goes on from there. With a ``spread`` the runs are
made by arrays of jobs, round after round (see `array_rounds`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.model.allocation import BatchJob, End, Stage
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.schedulers import (
    LOG,
    OUTPUT,
    SCRIPT,
    STATUS,
    BatchScheduler,
    Patience,
    Submission,
    installed_batch_scheduler,
    job_settings,
)
from mpiric.workflows.submit.array_rounds import JOBS, known_jobs, latest, submit_round
from mpiric.workflows.submit.progress import ending, state_of
from mpiric.workflows.submit.submission import SubmitRequest, write_submission

_FRUITLESS = 3  # jobs in a row that leave no new line in the store
_LATE_S = 30.0  # for the status of a job that has ended to be seen on this host


@dataclass(frozen=True)
class Reporting:
    """How the user hears of it: sentences of ours, and lines that the job prints."""

    say: Callable[[str], None]
    relay: Callable[[str], None]
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True)
class Ended:
    """The verb has come to its end: its exit status, and what it printed on stdout."""

    status: int
    output: str
    jobs: tuple[str, ...]


def submit(request: SubmitRequest, host: Host, reporting: Reporting) -> Ended:
    """Submit it, unless a job of this directory is still there, and follow it.

    Raises MpiricError when a job was cancelled, or when several in a row came to nothing.
    """
    scheduler = installed_batch_scheduler(host)
    submission = write_submission(request, scheduler, host)
    follower = _Follower(submission, request, scheduler, host, reporting)
    if (status := follower.status()) is not None and (request.afresh or status != 0):
        (request.directory / STATUS).unlink()
    try:
        return follower.to_the_end()
    except KeyboardInterrupt:
        known = " ".join(follower.jobs())
        raise MpiricError(
            f"no longer following job {known}, which goes on",
            hint=f"follow it again: {request.go_on}; end it: {' '.join(scheduler.cancel_command)} {known}",
            exit_code=ExitCode.INTERRUPTED,
        ) from None


def is_submission(directory: Path) -> bool:
    """Whether jobs were submitted for what is in this directory."""
    return (directory / JOBS).is_file()


@dataclass
class _Follower:
    submission: Submission
    request: SubmitRequest
    scheduler: BatchScheduler
    host: Host
    reporting: Reporting
    read_bytes: int = 0  # of the log
    over: set[str] = field(default_factory=set)  # jobs of which nothing more is to be heard
    ended: dict[str, BatchJob] = field(default_factory=dict)  # those followed last

    @property
    def place(self) -> Path:
        return self.request.directory

    def to_the_end(self) -> Ended:
        """Job after job, until the verb says its status."""
        fruitless, seen = 0, None
        self.read_bytes = self._log_size()
        if self.status() is None:
            self._pass_over_what_ended()
            seen = self._followed()
        while (status := self._awaited_status() if seen else self.status()) is None:
            if seen is not None:
                self._may_be_submitted_again(seen, fruitless)
            before = self._measured()
            self._submit()
            seen = self._followed()
            fruitless = 0 if self._measured() > before else fruitless + 1
        return Ended(status, self._text(OUTPUT), self.jobs())

    def _pass_over_what_ended(self) -> None:
        """Jobs that were over before anybody came to follow them."""
        if known := self.jobs():
            seen = self.scheduler.look(self.host, known, self.reporting.patience)
            self.over |= {job for job, each in seen.items() if each.is_over}

    def _may_be_submitted_again(self, seen: BatchJob, fruitless: int) -> None:
        if seen.end is End.CANCELLED:
            raise MpiricError(
                f"job {seen.job} was cancelled; what it measured is kept",
                hint=f"go on with: {self.request.go_on}",
                exit_code=ExitCode.INTERRUPTED,
            )
        if fruitless > _FRUITLESS:
            raise MpiricError(
                f"{fruitless} jobs in a row ended without a result, the last with {ending(seen)}",
                hint=f"see {self.place / LOG}",
            )
        self.reporting.say(f"job {seen.job} ended early ({ending(seen)}): submitting it again")

    def jobs(self) -> tuple[str, ...]:
        """Ids of all that were submitted."""
        return known_jobs(self.place)

    def _submit(self) -> None:
        if self.request.spread:
            planned = latest(self.place)
            submit_round(planned, self.request.spread, self.host, self.reporting.say, self.reporting.patience)
            return
        mark = f"{self.submission.name}-{len(self.jobs())}"
        settings = job_settings(self.place, mark)
        job = self.scheduler.submit(self.host, str(self.place / SCRIPT), settings, self.reporting.patience)
        with (self.place / JOBS).open("a") as file:
            file.write(f"{job}\n")
        self.reporting.say(f"submitted as job {job}; it goes on when this is ended")

    def _followed(self) -> BatchJob | None:
        """Until no job of it is left, those that jobs submit included; their log is passed on while they run.

        The one whose end says most, None when there was none to follow.
        """
        reported = ""
        self.ended = {}
        patience = replace(self.reporting.patience, sleep=self._relaying)
        while left := [job for job in self.jobs() if job not in self.over]:
            seen: dict[str, BatchJob] = {}
            for each in self.scheduler.follow(self.host, left, patience):
                self._relay()
                seen[each.job] = each
                progress = state_of(each) if len(left) == 1 else self._states_of(left, seen)
                if progress != reported and not (len(left) == 1 and each.is_over):
                    self.reporting.say(progress)
                    reported = progress
            self.over |= set(left)
            self.ended = seen
        self._relay()
        return max(self.ended.values(), key=self._weight, default=None)

    def _states_of(self, job_ids: Sequence[str], seen: Mapping[str, BatchJob]) -> str:
        """Progress of the elements of an array; the job after it only waits."""
        array_round = latest(self.place)
        array = array_round.array
        elements = self.scheduler.elements(array, array_round.size) if array else ()
        states = [seen[job] for job in elements if job in seen]
        if not states or not set(elements) & set(job_ids):
            return f"jobs {', '.join(job_ids)} are waited for"
        over = sum(each.is_over for each in states)
        running = sum(each.stage is Stage.RUNNING for each in states)
        return f"array {array}: {over} of {len(elements)} jobs have ended, {running} run"

    def _weight(self, job: BatchJob) -> tuple[bool, bool, int]:
        """Of several, that somebody cancelled one says most, then that one ended badly, then the last one."""
        return job.end is End.CANCELLED, not job.succeeded, self.jobs().index(job.job)

    def _relaying(self, seconds: float) -> None:
        clock, sleep = self.reporting.patience.clock, self.reporting.patience.sleep
        until = clock() + seconds
        while (left := until - clock()) > 0:
            sleep(min(left, 1.0))
            self._relay()

    def _relay(self) -> None:
        try:
            with (self.place / LOG).open("rb") as file:
                file.seek(self.read_bytes)
                new = file.read()
        except OSError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        self.read_bytes += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            self.reporting.relay(line)

    def status(self) -> int | None:
        """Exit status of the verb, None before it has come to its end."""
        text = self._text(STATUS).strip()
        return int(text) if text.isdigit() else None

    def _awaited_status(self) -> int | None:
        """What a job that has just ended has written may be seen here a little later (NFS)."""
        for _ in _moments(_LATE_S, self.reporting.patience):
            status = self.status()
            if status is not None or not self._ended_by_itself():
                return status
        return None

    def _ended_by_itself(self) -> bool:
        return any(each.end in (End.COMPLETED, End.FAILED) for each in self.ended.values())

    def _measured(self) -> int:
        return sum(path.stat().st_size for path in self.place.rglob("*.jsonl"))

    def _log_size(self) -> int:
        path = self.place / LOG
        return path.stat().st_size if path.exists() else 0

    def _text(self, name: str) -> str:
        try:
            return (self.place / name).read_text(errors="replace")
        except OSError:
            return ""


def _moments(seconds: float, patience: Patience) -> Iterator[None]:
    until = patience.clock() + seconds
    yield
    while patience.clock() < until:
        patience.sleep(0.5)
        yield
