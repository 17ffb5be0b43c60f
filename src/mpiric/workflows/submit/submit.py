"""Run a verb of mpiric as jobs of a scheduler, and follow them to their end through whatever happens to them.

Ordinarily the job is a whole tune (or profile, or sweep): its trials are job steps of one allocation, so
that what is compared ran on the same nodes, minutes apart. The verb keeps its own state in its directory; a
job that ends before the verb has is submitted again and goes on from there. With a ``spread`` the runs are
made by arrays of jobs, round after round (see `array_rounds`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.model.allocation import BatchJob, End
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.schedulers import (
    LOG,
    STATUS,
    installed_batch_scheduler,
)
from mpiric.workflows.submit.array_rounds import JOBS
from mpiric.workflows.submit.follower import Follower, Reporting
from mpiric.workflows.submit.progress import ending
from mpiric.workflows.submit.submission import SubmitRequest, write_submission

_FRUITLESS = 3  # jobs in a row that leave no new line in the store


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
    follower = Follower(submission, request, scheduler, host, reporting)
    if (status := follower.status()) is not None and (request.afresh or status != 0):
        (request.directory / STATUS).unlink()
    try:
        return _follow_to_the_end(follower, reporting.say)
    except KeyboardInterrupt:
        known = " ".join(follower.jobs())
        raise MpiricError(
            f"no longer following job {known}, which goes on",
            hint=f"follow it again: {request.go_on}; end it: {' '.join(scheduler.cancel_command)} {known}",
            exit_code=ExitCode.INTERRUPTED,
        ) from None


def is_submission(directory: Path) -> bool:
    """Whether jobs were submitted for what is in this directory."""
    return is_file(directory / JOBS)


def _follow_to_the_end(follower: Follower, say: Callable[[str], None]) -> Ended:
    """Follow job after job, until the verb has left its status."""
    fruitless, seen = 0, None
    if follower.status() is None:
        follower.pass_over_what_ended()
        seen = follower.follow()
    while (status := follower.awaited_status() if seen else follower.status()) is None:
        if seen is not None:
            _check_going_on(seen, fruitless, follower)
            say(f"job {seen.job} ended early ({ending(seen)}): submitting it again")
        before = follower.measured_bytes()
        follower.submit()
        seen = follower.follow()
        fruitless = 0 if follower.measured_bytes() > before else fruitless + 1
    return Ended(status, follower.output, follower.jobs())


def _check_going_on(seen: BatchJob, fruitless: int, follower: Follower) -> None:
    """Raises MpiricError where the last job was cancelled, or several in a row came to nothing."""
    if seen.end is End.CANCELLED:
        raise MpiricError(
            f"job {seen.job} was cancelled; what it measured is kept",
            hint=f"go on with: {follower.request.go_on}",
            exit_code=ExitCode.INTERRUPTED,
        )
    if fruitless > _FRUITLESS:
        raise MpiricError(
            f"{fruitless} jobs in a row ended without a result, the last with {ending(seen)}",
            hint=f"see {follower.directory / LOG}",
        )
