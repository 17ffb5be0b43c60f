"""``--submit``: run the same command as a batch job, or as arrays of jobs, and follow it to its end."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mpiric.cli._errors import say
from mpiric.cli._input import refuse_descriptors
from mpiric.cli._remembered import given_options
from mpiric.cli._streams import raw
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import parse_duration
from mpiric.model.batch import Spread
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_command
from mpiric.schedulers import batch_schedulers
from mpiric.workflows.submit.follower import Reporting
from mpiric.workflows.submit.submission import SubmitRequest
from mpiric.workflows.submit.submit import submit

_OURS = set("submit job_options resume store directory command_line launch_line round_number".split())
_OPTION_NAMES = [f"--{each.submitter}" for each in batch_schedulers().values()]
_MOST_JOBS = 4000
_SOME_PROGRAM = "program"  # where a verb takes a launch line without one


def submit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--submit``, and the option for the scheduler's own options (``--sbatch``, ``--qsub``, …)."""
    for option in (
        click.option(
            "job_options",
            *_OPTION_NAMES,
            multiple=True,
            metavar="OPTIONS",
            help="Options of the job in the syntax of its scheduler: --sbatch='-N 4 -C fast', "
            "--qsub='-q short'. The numbers of nodes and ranks follow from CMD.",
        ),
        click.option(
            "--submit",
            is_flag=True,
            help="Submit the same command as a batch job and follow it to its end.",
        ),
    ):
        command = option(command)
    return command


def array_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--array`` and ``--slice``, and the hidden option that tells a job of an array its round."""
    for option in (
        click.option("--round", "round_number", type=click.IntRange(min=0), hidden=True),
        click.option(
            "--slice",
            "slice_time",
            default="15m",
            show_default=True,
            metavar="TIME",
            help="With --array, the time that each job measures.",
        ),
        click.option(
            "--array",
            "array",
            metavar="N[%M]",
            help="With --submit, use arrays of N short jobs, at most M at a time, instead of one long job.",
        ),
    ):
        command = option(command)
    return command


def spread_of(given: dict[str, Any]) -> Spread | None:
    """Return the parsed ``--array 16%4``, or None without it."""
    if given["array"] is None:
        return None
    found = re.fullmatch(r"(\d{1,6})(?:%(\d{1,6}))?", given["array"], re.ASCII)
    if found is None or not 1 <= int(found[1]) <= _MOST_JOBS or found[2] in ("0", "00"):
        raise MpiricError(
            f"--array must be a number of jobs, not {given['array']!r}",
            hint="write --array 16, or 16%4 for 4 at a time",
        )
    if (each_s := parse_duration(given["slice_time"])) < 1:
        raise MpiricError("--slice is shorter than a second", hint="write it as 90s, 10m or 1h30m")
    return Spread(int(found[1]), int(found[2] or 0), each_s)


def run_submitted(
    directory: Path,
    more: tuple[str, ...],
    *,
    stdin: str = "",
    budget_s: float,
    afresh: bool,
    go_on: str = "",
    plans_itself: bool = False,
) -> int:
    """The verb being called, as a job with its files in ``directory``; its exit status.

    The job's words are those of the user, with ``more`` in place of the options that choose a directory.
    ``go_on`` is the command that follows the job again: this call itself for a verb without ``--resume``.
    """
    context = click.get_current_context()
    given = context.params
    line = given.get("command_line") or given["launch_line"]
    verb = context.info_name or ""
    if not go_on:
        again = given_options(context, {*_OURS} - {"job_options"})
        go_on = sh_command(["mpiric", verb, "--submit", *again, *more, "--", *line])
    request = SubmitRequest(
        directory=directory,
        arguments=(verb, *given_options(context, _OURS), *more, "--", *line),
        argv=line if "command_line" in given else (*line, _SOME_PROGRAM),
        working_directory=str(Path.cwd()),
        environment=dict(os.environ),
        stdin=stdin,
        options=_options(given["job_options"]),
        budget_s=budget_s,
        go_on=go_on,
        afresh=afresh,
        spread=spread_of(given) if "array" in given else None,
        plans_itself=plans_itself,
    )
    ended = submit(request, LocalHost(), Reporting(say, _relay))
    sys.stdout.flush()
    stream = raw(sys.stdout).buffer  # the program's own output may be among it
    stream.write(ended.output.encode(errors="surrogateescape"))
    stream.flush()
    return ended.status


def refuse_unsubmitted(given: dict[str, Any]) -> None:
    """Refuse options for a job without ``--submit``, and with it a command that cannot be a job."""
    if given["submit"]:
        words = click.get_current_context().params
        refuse_descriptors(words.get("command_line") or words.get("launch_line") or ())
    for option in ("job_options", "array"):
        if given.get(option) and not given["submit"] and given.get("round_number") is None:
            named = "--array" if option == "array" else " or ".join(_OPTION_NAMES)
            raise MpiricError(f"{named} needs --submit", hint="add --submit, or remove it")


def _options(given: tuple[str, ...]) -> tuple[str, ...]:
    """``-N 4 -C fast`` → ``-N 4``, ``-C fast``: an option and its value go on one line of a script."""
    found: list[str] = []
    for word in (word for text in given for word in shlex.split(text)):
        if word.startswith("-") or not found:
            found.append(word)
        else:
            found[-1] += f" {word}"
    wrong = [word for word in found if not word.startswith("-")]
    if wrong:
        raise MpiricError(
            f"options of a job begin with '-', not {wrong[0]!r}",
            hint="write --sbatch='-N 4' or --qsub='-q short'",
        )
    return tuple(found)


def _relay(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
