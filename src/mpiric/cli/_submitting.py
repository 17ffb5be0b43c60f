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
from mpiric.cli._options import flag, given_options, option
from mpiric.cli._streams import raw
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import parse_duration
from mpiric.model.batch import Spread
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_command
from mpiric.schedulers import batch_schedulers

_OURS = set("submit job_options resume store directory command_line launch_line round_number".split())
_OPTION_NAMES = [f"--{scheduler.submitter}" for scheduler in batch_schedulers().values()]
_MOST_JOBS = 4000
_SOME_PROGRAM = "program"  # program of a launch line that has none


def job_options(text: str) -> Callable[..., Any]:
    """Make the option for the scheduler's own options (``--sbatch``, ``--qsub``, …)."""
    return option("job_options", *_OPTION_NAMES, "OPTIONS", text, multiple=True)


def submit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--submit``, and the option for the scheduler's own options."""
    for add in (
        job_options(
            "Options of the job in the syntax of the scheduler: --sbatch='-N 4 -C fast', "
            "--qsub='-q short'. Nodes and ranks follow from CMD or LAUNCHER unless they are given here."
        ),
        flag("--submit", "Submit this mpiric command as a batch job, and wait for its end."),
    ):
        command = add(command)
    return command


def array_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--array`` and ``--slice``, and the hidden option with the round of a job of an array."""
    for add in (
        click.option("--round", "round_number", type=click.IntRange(min=0), hidden=True),
        option("--slice", "slice_time", "TIME", "Time that each job of --array measures.", default="15m"),
        option(
            "--array",
            "array",
            "N[%M]",
            "Use arrays of N short jobs, at most M at a time, instead of one long job (with --submit).",
        ),
    ):
        command = add(command)
    return command


def spread_of(parameters: dict[str, Any]) -> Spread | None:
    """Return the parsed ``--array 16%4``, or None without it."""
    if not parameters["array"]:
        return None
    match = re.fullmatch(r"(\d{1,6})(?:%(\d{1,6}))?", parameters["array"], re.ASCII)
    if match is None or not 1 <= int(match[1]) <= _MOST_JOBS or match[2] in ("0", "00"):
        raise MpiricError(
            f"--array must be a number of jobs, not {parameters['array']!r}",
            hint="write --array 16, or 16%4 for 4 at a time",
        )
    if (slice_s := parse_duration(parameters["slice_time"])) < 1:
        raise MpiricError("--slice must be at least 1s", hint="for example 90s, 10m or 1h30m")
    return Spread(int(match[1]), int(match[2] or 0), slice_s)


def run_submitted(
    directory: Path,
    more: tuple[str, ...],
    *,
    stdin: str = "",
    argv: tuple[str, ...] = (),
    budget_s: float,
    afresh: bool,
    go_on: str = "",
    plans_itself: bool = False,
) -> int:
    """Run the current command as a job with its files in ``directory``, and return its exit status.

    The job gets the options of this call, with ``more`` instead of the options that choose a directory.
    ``argv`` is the launch line that the size of the job follows from, by default the line of this call.
    ``go_on`` is the command that follows the job again, by default this call.
    """
    # Most calls submit nothing.
    from mpiric.workflows.submit.follower import Reporting
    from mpiric.workflows.submit.submission import SubmitRequest
    from mpiric.workflows.submit.submit import submit

    context = click.get_current_context()
    parameters = context.params
    line = parameters.get("command_line") or parameters["launch_line"]
    verb = context.info_name or ""
    if not go_on:
        again = given_options(context, {*_OURS} - {"job_options"})
        go_on = sh_command(["mpiric", verb, "--submit", *again, *more, "--", *line])
    request = SubmitRequest(
        directory=directory,
        arguments=(verb, *given_options(context, _OURS), *more, "--", *line),
        argv=argv or (line if "command_line" in parameters else (*line, _SOME_PROGRAM)),
        working_directory=str(Path.cwd()),
        environment=dict(os.environ),
        stdin=stdin,
        options=parsed_job_options(parameters["job_options"]),
        budget_s=budget_s,
        go_on=go_on,
        afresh=afresh,
        spread=spread_of(parameters) if "array" in parameters else None,
        plans_itself=plans_itself,
    )
    ended = submit(request, LocalHost(), Reporting(say, _relay))
    sys.stdout.flush()
    stream = raw(sys.stdout).buffer  # it may contain output of the program
    stream.write(ended.output.encode(errors="surrogateescape"))
    stream.flush()
    return ended.status


def refuse_unsubmitted(parameters: dict[str, Any]) -> None:
    """Raise MpiricError for options of a job without ``--submit``, and for a command that cannot be a job."""
    if parameters["submit"]:
        call = click.get_current_context().params
        refuse_descriptors(call.get("command_line") or call.get("launch_line") or ())
    for name in ("job_options", "array"):
        if parameters.get(name) and not parameters["submit"] and parameters.get("round_number") is None:
            named = "--array" if name == "array" else " or ".join(_OPTION_NAMES)
            raise MpiricError(f"{named} needs --submit", hint="add --submit, or remove it")


def parsed_job_options(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Split ``-N 4 -C fast`` into ``-N 4`` and ``-C fast``, the lines of a script."""
    lines: list[str] = []
    for word in (word for text in texts for word in shlex.split(text)):
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    wrong = [word for word in lines if not word.startswith("-")]
    if wrong:
        raise MpiricError(
            f"an option of a job must begin with '-': {wrong[0]!r}",
            hint="write --sbatch='-N 4' or --qsub='-q short'",
        )
    return tuple(lines)


def _relay(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
