"""Files of a submission: its job script, its input, the first round of its arrays."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mpiric import launchers
from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.owned_files import read_own, why_open_to_others, write_whole
from mpiric.host.packaged import own_command
from mpiric.model.batch import Spread
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, NoRoomError
from mpiric.model.quoting import sh_word
from mpiric.schedulers import (
    INPUT,
    LOG,
    NAME_VARIABLE,
    OUTPUT,
    SCRIPT,
    STATUS,
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
    """Command to submit, and the directory of its files."""

    directory: Path
    arguments: tuple[str, ...]  # arguments of mpiric, starting with the command
    argv: tuple[str, ...]  # the user's launch line, part of the arguments
    working_directory: str
    environment: Mapping[str, str]
    stdin: str = ""
    options: tuple[str, ...] = ()  # options of the scheduler
    budget_s: float = 0.0
    go_on: str = ""  # command that continues to follow it
    afresh: bool = False  # repeat work that has already ended, successfully or not
    spread: Spread | None = None  # distribution over the jobs of arrays
    plans_itself: bool = False  # no observation job: the elements of one array know their work


def write_submission(request: SubmitRequest, scheduler: BatchScheduler, host: Host) -> Submission:
    """Write the files from which the jobs of a submission start.

    Raises NoRoomError; MismatchError for a directory of other users, in which a scheduler would follow
    their links, and for one with files of the user that have the names of a job's files.
    """
    if reason := exists(request.directory) and why_open_to_others(request.directory):
        raise MismatchError(
            f"{request.directory} cannot hold the files of a job: {reason}",
            hint=f"name another directory, or protect it: chmod go-w {sh_word(str(request.directory))}",
        )
    if foreign := _foreign_file(request.directory):
        raise MismatchError(
            f"{foreign} exists, and mpiric did not write it; it would be overwritten",
            hint="name another directory, or move that file",
        )
    site = read_site_defaults(request.environment, None, host.read_text).options
    job = launchers.parse_command(request.argv, request.working_directory, {})
    seconds = min(request.spread.each_s, request.budget_s) if request.spread else request.budget_s
    resources = request_of(job, scheduler, minutes=int(seconds * 1.3 / 60) + 15)
    resources = replace(
        resources, account=site.account, partition=site.partition, time=site.time or resources.time
    )
    user_options = frozenset().union(*map(scheduler.key, request.options))
    of_site = [option for option in site.directives if not scheduler.key(option) & user_options]
    submission = Submission(
        directory=request.directory,
        arguments=(*own_command(host.python), *request.arguments),
        working_directory=request.working_directory,
        options=scheduler.override(scheduler.options(resources), (*of_site, *request.options)),
    )
    try:
        input_file = request.directory / INPUT
        if request.stdin:
            with Path(request.stdin).open("rb") as file:
                write_whole(input_file, file, 0o600)
        submission = replace(submission, stdin=str(input_file) if exists(input_file) else "")
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


def _foreign_file(directory: Path) -> str:
    """Return a file that a submission would overwrite and that no earlier one wrote; "" without one."""
    with suppress(OSError):
        if NAME_VARIABLE.encode() in read_own(directory / SCRIPT):
            return ""
    files = (directory / name for name in (SCRIPT, INPUT, OUTPUT, LOG, STATUS))
    return next((str(path) for path in files if os.path.lexists(path)), "")
