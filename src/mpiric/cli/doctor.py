"""`mpiric doctor`: run a command once and print findings; with --darshan, print findings of a log.

`workflows.profile.doctor` collects the findings, `workflows.profile.remedy` tries a fix (--try).
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mpiric.cli._errors import say
from mpiric.cli._input import piped_input
from mpiric.cli._json import print_json
from mpiric.cli._options import cli_command, command_line_or_none, flag, launch_request_of, mpi_option, option
from mpiric.cli.profile import abi_option, json_of_run_option, report_console
from mpiric.host.command_log import masked
from mpiric.host.facts.local import LocalHost
from mpiric.host.processes.foreground import Output
from mpiric.model.amount import counted, parse_duration, show_duration
from mpiric.model.errors import ExitCode, NotFoundError, after_run
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import Advice
from mpiric.model.quoting import sh_command
from mpiric.profile.advise import advise_on
from mpiric.profile.darshan import read_log
from mpiric.report.json_objects import advice_json, finding_json
from mpiric.report.profile_text import print_findings
from mpiric.workflows.profile.doctor import Diagnosis, RemedyTrial, diagnose, try_remedy
from mpiric.workflows.profile.profile import Profiled
from mpiric.workflows.profile.request import ProfileRequest


@cli_command(context_settings={"allow_interspersed_args": False})
@option(
    "--limit",
    "--for",
    "limit",
    "TIME",
    "End the run after this time (90s, 10m, none) and report the findings up to then.",
    default="60s",
)
@option(
    "--fail-on",
    "IDS",
    "Exit with status 81 if one of these findings is reported: IDs of findings (--json lists "
    "them), or a group: run, placement, settings, machine, any.",
)
@flag(
    "--try",
    "tries",
    "After a failure, run the command once more with the proposed fix, in a copy of the working "
    "directory, and report whether that works.",
)
@flag("--all", "shows_all", "Print all findings, not only the first five.")
@mpi_option
@abi_option
@option(
    "--darshan",
    "log",
    "FILE",
    "Run nothing, and report findings from this log of Darshan (needs PyDarshan: mpiric[darshan]).",
)
@option("--output", "-o", "directory", "DIR", "Keep the record in this directory.")
@json_of_run_option
@command_line_or_none
def command(command_line: tuple[str, ...], **options: Any) -> int:
    """Run CMD once and report what is wrong with how it runs.

    Each finding has its evidence and its fix. The exit status is 81 if a finding of --fail-on is reported, 0
    if the run was ended at the limit, and otherwise the exit status of the program.
    """
    if options["log"]:
        return _report_log(options["log"], command_line, options)
    if not command_line:
        raise click.UsageError("Missing argument '-- CMD'.")
    request = launch_request_of(
        ProfileRequest,
        command_line,
        options,
        mpi=options["mpi_label"],
        family=AbiFamily(options["abi"]) if options["abi"] else None,
        output=Output.STDERR if options["as_json"] else Output.STDOUT,
        limit_s=None if options["limit"] == "none" else parse_duration(options["limit"]),
    )
    remedy_trial = None
    with _repeatable_input(command_line) if options["tries"] else nullcontext():
        diagnosis = diagnose(request, LocalHost())
        if options["tries"]:
            with suppress(OSError, ValueError):  # input that cannot be read again
                os.lseek(sys.stdin.fileno(), 0, os.SEEK_SET)
            with after_run(diagnosis.status):
                remedy_trial = try_remedy(request, diagnosis, LocalHost())
    is_failing = diagnosis.among(_ids(options["fail_on"]))
    status = diagnosis.status or (int(ExitCode.FOUND) if is_failing else 0)
    with after_run(status):
        _report_reason(diagnosis.profiled)
        if options["as_json"]:
            print_json(_as_json(diagnosis, remedy_trial))
        else:
            _print_findings(diagnosis, remedy_trial, shows_all=options["shows_all"])
        sys.stdout.flush()
    return status


def _ids(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))


@contextmanager
def _repeatable_input(command_line: tuple[str, ...]) -> Iterator[None]:
    """Replace a piped standard input by a copy, which a second run reads again."""
    with piped_input(command_line) as path:
        if path:
            with Path(path).open("rb") as copy:
                os.dup2(copy.fileno(), sys.stdin.fileno())
        yield


def _report_log(log: Path, command_line: tuple[str, ...], options: dict[str, Any]) -> int:
    """Print findings of an earlier run, with proposals for ``command_line`` if it is not empty."""
    advice = advise_on(read_log(log, LocalHost()).numbers, sh_command(masked(command_line)))
    if options["as_json"]:
        print_json({"findings": [advice_json(item) for item in advice], "log": str(log)})
    else:
        print_findings(advice, report_console())
    names = {item.finding.id for item in advice}
    if advice:
        names |= {"any", "run"}
    return int(ExitCode.FOUND) if names & _ids(options["fail_on"]) else 0


def _report_reason(profiled: Profiled) -> None:
    """Report why the run has no analysis, or that it was ended."""
    why_not = profiled.why_not
    if why_not is not None and (profiled.ending is None or not isinstance(why_not, NotFoundError)):
        about_run = "" if profiled.ending else "; the following findings are not about the run"
        say(f"{why_not.message}{about_run}")
    elif profiled.was_ended:
        say(f"the run was ended after {show_duration(profiled.trial.wall_s)} (--limit)")


def _print_findings(diagnosis: Diagnosis, remedy_trial: RemedyTrial | None, *, shows_all: bool) -> None:
    shown = tuple(diagnosis.findings.values()) if shows_all else diagnosis.first
    print_findings(shown, report_console())
    if remedy_trial is not None:
        outcome = "it works" if remedy_trial.works else f"it does not work: {remedy_trial.reason}"
        report_console().print(f"  tried that command: {outcome}", style="bold", highlight=False)
    if remaining := len(diagnosis.findings) - len(shown):
        say(f"{counted(remaining, 'more finding')}: --all shows them")


def _as_json(diagnosis: Diagnosis, remedy_trial: RemedyTrial | None) -> dict[str, object]:
    profiled = diagnosis.profiled
    return {
        "findings": [
            advice_json(finding) if isinstance(finding, Advice) else finding_json(finding)
            for finding in diagnosis.findings.values()
        ],
        "exit_status": diagnosis.status,
        "ended_at_limit": profiled.was_ended,
        "elapsed_s": profiled.trial.wall_s,
        "recorded": profiled.profile is not None,
        "mpi_share": profiled.profile.mpi_share if profiled.profile else None,
        "tried": asdict(remedy_trial) if remedy_trial else None,
    }
