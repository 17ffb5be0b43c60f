"""The files of a submission: its job script, its input, the first round of its arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric import launchers
from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.owned_files import why_open_to_others, write_whole
from mpiric.host.packaged import own_command
from mpiric.model.batch import Spread
from mpiric.model.errors import MismatchError, NoRoomError
from mpiric.model.quoting import sh_word
from mpiric.schedulers import (
    INPUT,
    SCRIPT,
    BatchScheduler,
    Submission,
    read_site_defaults,
    request_of,
    round_script,
    submission_script,
)
from mpiric.workflows.submit.array_rounds import ArrayRound, latest


@dataclass(frozen=True)
class SubmitRequest:
    """What is to run, and in which directory its files are."""

    directory: Path
    arguments: tuple[str, ...]  # of mpiric, beginning with the verb
    argv: tuple[str, ...]  # the user's launch line among them
    working_directory: str
    environment: Mapping[str, str]
    stdin: str = ""
    options: tuple[str, ...] = ()  # of the scheduler
    budget_s: float = 0.0
    go_on: str = ""  # the command that follows it again
    afresh: bool = False  # whether what has come to its end there, well or not, is done once more
    spread: Spread | None = None  # over the jobs of arrays
    plans_itself: bool = False  # no job looks at it first: the elements of one array know what to do


def write_submission(request: SubmitRequest, scheduler: BatchScheduler, host: Host) -> Submission:
    """Write what the jobs of a submission are started from.

    Raises NoRoomError; MismatchError for a directory of others, where a scheduler would follow their links.
    """
    if reason := exists(request.directory) and why_open_to_others(request.directory):
        raise MismatchError(
            f"{request.directory} cannot hold the files of a job: {reason}",
            hint=f"name another directory, or forbid it: chmod go-w {sh_word(str(request.directory))}",
        )
    site = read_site_defaults(request.environment, None, host.read_text).options
    job = launchers.parse_command(request.argv, request.working_directory, {})
    seconds = min(request.spread.each_s, request.budget_s) if request.spread else request.budget_s
    resources = request_of(job, scheduler, minutes=int(seconds * 1.3 / 60) + 15)
    resources = replace(
        resources, account=site.account, partition=site.partition, time=site.time or resources.time
    )
    given = frozenset().union(*map(scheduler.key, request.options))
    of_site = [option for option in site.directives if not scheduler.key(option) & given]
    submission = Submission(
        directory=request.directory,
        arguments=(*own_command(host.python), *request.arguments),
        working_directory=request.working_directory,
        options=scheduler.override(scheduler.options(resources), (*of_site, *request.options)),
    )
    try:
        kept = request.directory / INPUT
        if request.stdin:
            with Path(request.stdin).open("rb") as file:
                write_whole(kept, file, 0o600)
        submission = replace(submission, stdin=str(kept) if exists(kept) else "")
        script = (round_script if request.spread else submission_script)(scheduler, submission)
        write_whole(request.directory / SCRIPT, script.encode(), 0o700)  # its arguments are private
        if request.spread and request.plans_itself and not latest(request.directory).number:
            ArrayRound(request.directory, 1).plan([()] * request.spread.jobs)
    except OSError as error:
        raise NoRoomError(
            f"{request.directory} cannot be written: {error.strerror}",
            hint="name another directory with --store",
        ) from error
    return submission
