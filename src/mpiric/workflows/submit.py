"""Run a verb of mpiric as a Slurm job, and follow it to its end through whatever happens to it.

The job is a whole tune (or profile, or sweep): its trials are job steps of one allocation, so that what is
compared ran on the same nodes, minutes apart. The verb keeps its own state in its directory; a job that ends
before the verb has is submitted again and goes on from there.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.model.allocation import BatchJob, Stage
from mpiric.model.errors import ExitCode, MpiricError, NoRoomError
from mpiric.schedulers import _slurm_jobs as jobs
from mpiric.schedulers._site_defaults import read_site_defaults
from mpiric.schedulers._slurm_submission import (
    INPUT,
    LOG,
    OUTPUT,
    SCRIPT,
    STATUS,
    Submission,
    names_of,
    resources_of,
    submission_script,
)

_JOBS = "jobs"  # ids of the jobs of a submission, one a line
_FRUITLESS = 3  # jobs in a row that leave no new line in the store
_LATE_S = 30.0  # for the status of a job that has ended to be seen on this host


@dataclass(frozen=True)
class SubmitRequest:
    """What is to run, and in which directory its files are."""

    directory: Path
    words: tuple[str, ...]  # of mpiric, beginning with the verb
    argv: tuple[str, ...]  # the user's launch line among them
    working_directory: str
    environment: Mapping[str, str]
    stdin: str = ""
    options: tuple[str, ...] = ()  # of sbatch
    budget_s: float = 0.0
    go_on: str = ""  # the command that follows it again
    afresh: bool = False  # whether what has come to its end there, well or not, is done once more


@dataclass(frozen=True)
class Telling:
    """How the user hears of it: sentences of ours, and lines that the job prints."""

    say: Callable[[str], None]
    relay: Callable[[str], None]
    patience: jobs.Patience = field(default_factory=jobs.Patience)


@dataclass(frozen=True)
class Ended:
    """The verb has come to its end: its exit status, and what it printed on stdout."""

    status: int
    output: str
    jobs: tuple[str, ...]


def submit(request: SubmitRequest, host: Host, telling: Telling) -> Ended:
    """Submit it, unless a job of this directory is still there, and follow it.

    Raises MpiricError when a job was cancelled, or when several in a row came to nothing.
    """
    submission = _write(request, host)
    follower = _Follower(submission, request.directory, host, telling, request.go_on)
    if (status := follower.status()) is not None and (request.afresh or status != 0):
        (request.directory / STATUS).unlink()
    try:
        return follower.to_the_end()
    except KeyboardInterrupt:
        known = " ".join(follower.jobs())
        raise MpiricError(
            f"no longer following job {known}, which goes on",
            hint=f"follow it again: {request.go_on}; end it: scancel {known}",
            exit_code=ExitCode.INTERRUPTED,
        ) from None


def is_submission(directory: Path) -> bool:
    """Whether jobs were submitted for what is in this directory."""
    return (directory / _JOBS).is_file()


def _write(request: SubmitRequest, host: Host) -> Submission:
    site = read_site_defaults(request.environment, None, host.read_text).wording
    named = names_of(request.options)
    named_by_site = {"--account": site.account, "--partition": site.partition, "--time": site.time}
    of_site = [*(f"{name}={value}" for name, value in named_by_site.items() if value), *site.directives]
    of_site = [option for option in of_site if not names_of([option]) & named]
    job = launchers.parse_command(request.argv, lambda _: "openmpi5", request.working_directory, {})
    minutes = int(request.budget_s * 1.3 / 60) + 15
    submission = Submission(
        directory=request.directory,
        words=(host.python, "-m", "mpiric", *request.words),
        working_directory=request.working_directory,
        options=resources_of(job, (*of_site, *request.options), minutes),
    )
    try:
        kept = request.directory / INPUT
        if request.stdin:
            kept.write_bytes(Path(request.stdin).read_bytes())
        submission = replace(submission, stdin=str(kept) if kept.exists() else "")
        (request.directory / SCRIPT).write_text(submission_script(submission))
    except OSError as error:
        raise NoRoomError(
            f"{request.directory} cannot be written: {error.strerror}", hint="name another place with --store"
        ) from error
    return submission


@dataclass
class _Follower:
    submission: Submission
    place: Path
    host: Host
    telling: Telling
    go_on: str
    read_bytes: int = 0  # of the log

    def to_the_end(self) -> Ended:
        """Job after job, until the verb says its status."""
        fruitless, seen = 0, None
        self.read_bytes = self._log_size()
        if self.status() is None and (job := self._still_there()):
            seen = self._followed(job)
        while (status := self._awaited_status() if seen else self.status()) is None:
            if seen is not None:
                self._may_be_submitted_again(seen, fruitless)
            before = self._measured()
            seen = self._followed(self._submit())
            fruitless = 0 if self._measured() > before else fruitless + 1
        return Ended(status, self._text(OUTPUT), self.jobs())

    def _still_there(self) -> str:
        """The last job, unless it was over before anybody came to follow it."""
        last = self.jobs()[-1:]
        over = last and jobs.look(self.host, last, self.telling.patience)[last[0]].is_over
        return last[0] if last and not over else ""

    def _may_be_submitted_again(self, seen: BatchJob, fruitless: int) -> None:
        if seen.word.startswith("CANCELLED"):
            raise MpiricError(
                f"job {seen.job} was cancelled; what it measured is kept",
                hint=f"go on with: {self.go_on}",
                exit_code=ExitCode.INTERRUPTED,
            )
        if fruitless > _FRUITLESS:
            raise MpiricError(
                f"{fruitless} jobs in a row ended without a result, the last with {_ending(seen)}",
                hint=f"see {self.place / LOG}",
            )
        self.telling.say(f"job {seen.job} ended early ({_ending(seen)}): submitting it again")

    def jobs(self) -> tuple[str, ...]:
        """Ids of all that were submitted."""
        return tuple(self._text(_JOBS).split())

    def _submit(self) -> str:
        mark = f"{self.submission.name}-{len(self.jobs())}"
        job = jobs.submit(self.host, str(self.place / SCRIPT), patience=self.telling.patience, mark=mark)
        with (self.place / _JOBS).open("a") as file:
            file.write(f"{job}\n")
        self.telling.say(f"submitted as job {job}; it goes on when this is ended")
        return job

    def _followed(self, job: str) -> BatchJob:
        """The job as it ended; its log is passed on while it runs."""
        last, told = BatchJob(job, Stage.FORGOTTEN), ""
        patience = replace(self.telling.patience, sleep=self._relaying)
        for last in jobs.follow(self.host, [job], patience):
            self._relay()
            if (words := _told(last)) != told and not last.is_over:
                self.telling.say(words)
                told = words
        self._relay()
        return last

    def _relaying(self, seconds: float) -> None:
        clock, sleep = self.telling.patience.clock, self.telling.patience.sleep
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
            self.telling.relay(line)

    def status(self) -> int | None:
        """Exit status of the verb, None before it has come to its end."""
        text = self._text(STATUS).strip()
        return int(text) if text.isdigit() else None

    def _awaited_status(self) -> int | None:
        """What a job that has just ended has written may be seen here a little later (NFS)."""
        for _ in _moments(_LATE_S):
            status = self.status()
            if status is not None or not self._ended_by_itself():
                return status
        return None

    def _ended_by_itself(self) -> bool:
        seen = jobs.look(self.host, self.jobs()[-1:], self.telling.patience).values()
        return any(each.word in ("COMPLETED", "FAILED") for each in seen)

    def _measured(self) -> int:
        return sum(path.stat().st_size for path in self.place.glob("*.jsonl"))

    def _log_size(self) -> int:
        path = self.place / LOG
        return path.stat().st_size if path.exists() else 0

    def _text(self, name: str) -> str:
        try:
            return (self.place / name).read_text(errors="replace")
        except OSError:
            return ""


def _moments(seconds: float) -> Iterator[None]:
    until = time.monotonic() + seconds
    yield
    while time.monotonic() < until:
        time.sleep(0.5)
        yield


def _told(job: BatchJob) -> str:
    if job.stage is Stage.RUNNING:
        again = f", for the {job.restarts + 1}. time" if job.restarts else ""
        return f"job {job.job} runs on {_names(job.hosts)}{again}"
    why = f" ({job.reason})" if job.reason else ""
    return f"job {job.job} is {job.stage.value}{why}"


def _names(hosts: Sequence[str]) -> str:
    return ", ".join(hosts) if len(hosts) <= 4 else f"{hosts[0]} … {hosts[-1]} ({len(hosts)} hosts)"


def _ending(job: BatchJob) -> str:
    return "no trace of it in Slurm" if job.stage is Stage.FORGOTTEN else f"{job.word} {job.reason}".strip()
