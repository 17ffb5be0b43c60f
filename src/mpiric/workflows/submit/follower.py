"""Observation of the jobs of a submission while they run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.owned_files import append
from mpiric.model.amount import number_of
from mpiric.model.batch import BatchJob, End, Stage
from mpiric.model.dataclass import dataclass
from mpiric.schedulers import (
    JOBS,
    LOG,
    OUTPUT,
    SCRIPT,
    STATUS,
    BatchScheduler,
    Patience,
    Submission,
    job_settings,
)
from mpiric.workflows.submit.array_rounds import ArrayRound, known_jobs, latest, submit_round
from mpiric.workflows.submit.submission import SubmitRequest


class RelayedLog:
    """Relay for lines that are added to a log from now on; only complete lines."""

    def __init__(self, path: Path, relay: Callable[[str], None]) -> None:
        self._path, self._relay = path, relay
        self._read_bytes = path.stat().st_size if exists(path) else 0

    def relay(self) -> list[str]:
        """Relay the new lines, and return them."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                new = file.read()
        except OSError:
            return []
        complete = new[: new.rfind(b"\n") + 1]
        self._read_bytes += len(complete)
        lines = complete.decode(errors="replace").splitlines()
        for line in lines:
            self._relay(line)
        return lines

    def relay_while(self, patience: Patience, end_words: Sequence[str] = ()) -> Callable[[float], None]:
        """Return a sleep function that relays new lines; a line with ``end_words`` ends it."""

        def sleep(seconds: float) -> None:
            until = patience.clock() + seconds
            while (remaining_s := until - patience.clock()) > 0:
                patience.sleep(min(remaining_s, 1.0))
                if any(word in line for line in self.relay() for word in end_words):
                    return

        return sleep


def state_of(job: BatchJob) -> str:
    """Return where a job runs, or why it does not run yet."""
    if job.stage is Stage.RUNNING:
        again = f", for the {job.restarts + 1}. time" if job.restarts else ""
        return f"job {job.job} runs on {_names(job.hosts)}{again}"
    if job.stage is Stage.ENDING:
        return f"job {job.job} is being ended: its processes are given some time"
    why = f" ({job.reason})" if job.reason else ""
    return f"job {job.job} is {job.stage.value}{why}"


def _names(hosts: Sequence[str]) -> str:
    return ", ".join(hosts) if len(hosts) <= 4 else f"{hosts[0]} … {hosts[-1]} ({len(hosts)} hosts)"


def ending(job: BatchJob) -> str:
    """Return how a job ended, as its scheduler reports it."""
    if job.stage is Stage.FORGOTTEN:
        return "not known to the scheduler any more"
    return f"{job.state} {job.reason}".strip()


def array_progress(
    array_round: ArrayRound,
    scheduler: BatchScheduler,
    job_ids: Sequence[str],
    states_of_jobs: Mapping[str, BatchJob],
) -> str:
    """Return the progress of the elements of an array; the job after it only waits."""
    array = array_round.array
    elements = scheduler.elements(array, array_round.size) if array else ()
    states = [states_of_jobs[job] for job in elements if job in states_of_jobs]
    if not states or not set(elements) & set(job_ids):
        return f"jobs {', '.join(job_ids)} are pending"
    over = sum(state.is_over for state in states)
    running = sum(state.stage is Stage.RUNNING for state in states)
    return f"array {array}: {over} of {len(elements)} jobs have ended, {running} run"


_LATE_S = 30.0  # time until the status of an ended job is visible on this host


@dataclass(frozen=True)
class Reporting:
    """Output for the user: sentences of mpiric, and lines that the job prints."""

    say: Callable[[str], None]
    relay: Callable[[str], None]
    patience: Patience = field(default_factory=Patience)


@dataclass
class Follower:
    """Follows the jobs of a submission and relays their log."""

    submission: Submission
    request: SubmitRequest
    scheduler: BatchScheduler
    host: Host
    reporting: Reporting
    over: set[str] = field(default_factory=set)  # ids of finished jobs
    ended: dict[str, BatchJob] = field(default_factory=dict)  # final states of the most recent jobs

    def __post_init__(self) -> None:
        self._log = RelayedLog(self.directory / LOG, self.reporting.relay)

    @property
    def directory(self) -> Path:
        """Return the directory of the submission."""
        return self.request.directory

    @property
    def output(self) -> str:
        """Return the text that the command printed on stdout; bytes that are not UTF-8 are surrogates."""
        try:
            return (self.directory / OUTPUT).read_bytes().decode(errors="surrogateescape")
        except OSError:
            return ""

    def pass_over_what_ended(self) -> None:
        """Ignore jobs that ended before they were followed."""
        if job_ids := self.jobs():
            states = self.scheduler.look(self.host, job_ids, self.reporting.patience)
            self.over |= {job for job, state in states.items() if state.is_over}

    def jobs(self) -> tuple[str, ...]:
        """Return the ids of all submitted jobs."""
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
        self.reporting.say(f"submitted as job {job}; it continues if this command is interrupted")

    def follow(self) -> BatchJob | None:
        """Follow until all jobs have ended, including jobs that jobs submit, and relay their log.

        Returns the job with the most significant end, None if there was none.
        """
        reported = ""
        self.ended = {}
        sleep = self._log.relay_while(self.reporting.patience, self.scheduler.end_words)
        patience = replace(self.reporting.patience, sleep=sleep)
        while unfinished := [job for job in self.jobs() if job not in self.over]:
            states: dict[str, BatchJob] = {}
            for state in self.scheduler.follow(self.host, unfinished, patience):
                self._log.relay()
                states[state.job] = state
                progress = (
                    state_of(state)
                    if len(unfinished) == 1
                    else array_progress(latest(self.directory), self.scheduler, unfinished, states)
                )
                if progress != reported and not (len(unfinished) == 1 and state.is_over):
                    self.reporting.say(progress)
                    reported = progress
            self.over |= set(unfinished)
            self.ended = states
        self._log.relay()
        return max(self.ended.values(), key=self._weight, default=None)

    def _weight(self, job: BatchJob) -> tuple[bool, bool, int]:
        """Return the significance of an end: cancelled jobs first, then failed ones, then the last one."""
        return job.end is End.CANCELLED, not job.succeeded, self.jobs().index(job.job)

    def status(self) -> int | None:
        """Return the exit status of the command, None before its end."""
        text = self._text(STATUS).strip()
        status = number_of(text, -1)
        return status if status >= 0 else None

    def awaited_status(self) -> int | None:
        """Return the status, with some patience: over NFS a new file may become visible late."""
        for _ in _late_moments(self.reporting.patience):
            status = self.status()
            if status is not None or not any(
                state.end in (End.COMPLETED, End.FAILED) for state in self.ended.values()
            ):
                return status
        return None

    def measured_bytes(self) -> int:
        """Return the size of the files of all trials and points."""
        return sum(path.stat().st_size for path in self.directory.rglob("*.jsonl"))

    def _text(self, name: str) -> str:
        try:
            return (self.directory / name).read_text(errors="replace")
        except OSError:
            return ""


def _late_moments(patience: Patience) -> Iterator[None]:
    """Yield every half second, until `_LATE_S` have passed."""
    until = patience.clock() + _LATE_S
    yield
    while patience.clock() < until:
        patience.sleep(0.5)
        yield
