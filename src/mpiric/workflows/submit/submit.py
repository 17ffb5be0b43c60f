"""Run a command of mpiric as jobs of a scheduler, and follow them until the command is complete.

Normally the job is a complete tune (or profile, or sweep): its trials are job steps of one allocation, so
that compared runs use the same nodes within minutes. The command keeps its state in its directory; if a job
ends early, it is submitted again and continues. With a ``spread`` the runs are made by job arrays, round
after round (see `array_rounds`).
"""

from collections.abc import Callable

from mpiric.host.host import Host
from mpiric.model.batch import BatchJob, End
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.schedulers import LOG, STATUS, installed_batch_scheduler
from mpiric.workflows.submit.follower import Follower, Reporting, ending
from mpiric.workflows.submit.submission import SubmitRequest, write_submission

_FRUITLESS = 3  # maximum number of consecutive jobs that add no line to the store


@dataclass(frozen=True)
class Ended:
    """Result of the command: its exit status, and its output."""

    status: int
    output: str
    jobs: tuple[str, ...]


def submit(request: SubmitRequest, host: Host, reporting: Reporting) -> Ended:
    """Submit the command, unless a job of this directory still exists, and follow it.

    Raises MpiricError if a job was cancelled, or if several consecutive jobs had no result.
    """
    scheduler = installed_batch_scheduler(host)
    submission = write_submission(request, scheduler, host)
    follower = Follower(submission, request, scheduler, host, reporting)
    if (status := follower.status()) is not None and (request.afresh or status != 0):
        (request.directory / STATUS).unlink()
    try:
        return _follow_to_the_end(follower, reporting.say)
    except KeyboardInterrupt:
        job_ids = " ".join(follower.jobs())
        raise MpiricError(
            f"no longer following job {job_ids}, which continues",
            hint=f"follow it again: {request.go_on}; end it: {' '.join(scheduler.cancel_command)} {job_ids}",
            exit_code=ExitCode.INTERRUPTED,
        ) from None


def _follow_to_the_end(follower: Follower, say: Callable[[str], None]) -> Ended:
    """Follow job after job, until the command has written its status."""
    fruitless, last_job = 0, None
    if follower.status() is None:
        follower.pass_over_what_ended()
        last_job = follower.follow()
    while (status := follower.awaited_status() if last_job else follower.status()) is None:
        if last_job is not None:
            _check_going_on(last_job, fruitless, follower)
            say(f"job {last_job.job} ended early ({ending(last_job)}): submitting it again")
        before = follower.measured_bytes()
        follower.submit()
        last_job = follower.follow()
        fruitless = 0 if follower.measured_bytes() > before else fruitless + 1
    return Ended(status, follower.output, follower.jobs())


def _check_going_on(last_job: BatchJob, fruitless: int, follower: Follower) -> None:
    """Raise MpiricError if the last job was cancelled, or several consecutive jobs had no result."""
    if last_job.end is End.CANCELLED:
        raise MpiricError(
            f"job {last_job.job} was cancelled; its measurements are kept",
            hint=f"continue with: {follower.request.go_on}",
            exit_code=ExitCode.INTERRUPTED,
        )
    if fruitless > _FRUITLESS:
        raise MpiricError(
            f"{fruitless} jobs in a row ended without a result, the last with {ending(last_job)}",
            hint=f"see {follower.directory / LOG}",
        )
