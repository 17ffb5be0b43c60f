"""`mpiric doctor`: findings only, for people in a hurry and for CI."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from mpiric.cli._command import cli_command
from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    DIRECTORY,
    FILE,
    command_line_or_none,
    mpi_option,
)
from mpiric.cli.profile import abi_option, json_of_run_option, letter_console
from mpiric.host.facts.local import LocalHost
from mpiric.host.processes.foreground import Output
from mpiric.host.secrets import masked
from mpiric.model.amount import parse_duration, show_duration
from mpiric.model.errors import ExitCode, after_run
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import Advice
from mpiric.model.quoting import sh_command
from mpiric.profile.advise import advise_on
from mpiric.profile.darshan import read_log
from mpiric.report.profile_json import advice_json, finding_json
from mpiric.report.profile_text import print_findings
from mpiric.workflows.profile.diagnosis import Diagnosis
from mpiric.workflows.profile.doctor import diagnose
from mpiric.workflows.profile.request import ProfileRequest

_EPILOG = """\b
Examples:
  mpiric doctor -- mpirun -n 4 ./app small.dat             for at most a minute
  mpiric doctor --limit 10s -- mpirun -n 64 ./app big.dat  what ten seconds of it show
  mpiric doctor --fail-on unbound-ranks,settings -- mpirun -n 4 ./app small.dat    in CI
  mpiric doctor --darshan run.darshan                      a run that is over, its files only
  mpiric doctor --json -- mpirun -n 4 ./app small.dat | jq -r '.findings[].id'
"""


@cli_command(epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@click.option(
    "--limit",
    "--for",
    "limit",
    default="60s",
    show_default=True,
    metavar="TIME",
    help="End the run after this time (90s, 10m, none) and report what was seen.",
)
@click.option(
    "--fail-on",
    default="",
    metavar="IDS",
    help="Exit with status 81 when one of these findings is reported: names of findings, or run, placement, "
    "settings, machine, any.",
)
@mpi_option
@abi_option
@click.option(
    "--darshan",
    "log",
    **FILE,
    help="Run nothing, and report what this log of Darshan shows (needs PyDarshan: mpiric[darshan]).",
)
@click.option("--output", "-o", "directory", **DIRECTORY, help="Keep the record in this directory.")
@json_of_run_option
@command_line_or_none
def command(command_line: tuple[str, ...], **given: Any) -> int:
    """Run CMD once and report what is wrong with how it runs.

    Each finding has its evidence and its fix. The exit status is that of the program, 0 when it ran until the
    limit, or 81 for --fail-on.
    """
    if given["log"]:
        return _tell_of_log(given["log"], command_line, given)
    if not command_line:
        raise click.UsageError("Missing argument '-- CMD'.")
    request = ProfileRequest(
        argv=command_line,
        working_directory=str(Path.cwd()),
        environment=dict(os.environ),
        directory=given["directory"],
        mpi=given["mpi_label"],
        family=AbiFamily(given["abi"]) if given["abi"] else None,
        output=Output.STDERR if given["as_json"] else Output.STDOUT,
        limit_s=None if given["limit"] == "none" else parse_duration(given["limit"]),
    )
    diagnosis = diagnose(request, LocalHost())
    wanted = frozenset(filter(None, given["fail_on"].split(",")))
    status = diagnosis.status or (int(ExitCode.FOUND) if diagnosis.among(wanted) else 0)
    with after_run(status):
        _tell(diagnosis, as_json=given["as_json"])
    return status


def _tell_of_log(log: Path, command_line: tuple[str, ...], given: dict[str, Any]) -> int:
    """Findings of a run that is over; what they propose is for ``command_line`` where that is given."""
    found = advise_on(read_log(log, LocalHost()).numbers, sh_command(masked(command_line)))
    if given["as_json"]:
        print_json({"findings": [advice_json(each) for each in found], "log": str(log)})
    else:
        print_findings(found, letter_console())
    named = {"any", "run"} if found else set()
    failing = named.union(each.finding.id for each in found) & set(given["fail_on"].split(","))
    return int(ExitCode.FOUND) if failing else 0


def _tell(diagnosis: Diagnosis, *, as_json: bool) -> None:
    done = diagnosis.profiled
    if done.why_not is not None:
        say(f"{done.why_not.message}; what follows is not about the run")
    elif done.was_ended:
        lasted = show_duration(done.trial.wall_s)
        say(f"ended after {lasted} (--limit); what follows is from that time")
    if as_json:
        print_json(_as_json(diagnosis))
    else:
        print_findings(diagnosis.findings.values(), letter_console())
    sys.stdout.flush()


def _as_json(diagnosis: Diagnosis) -> dict[str, object]:
    profiled = diagnosis.profiled
    return {
        "findings": [
            advice_json(each) if isinstance(each, Advice) else finding_json(each)
            for each in diagnosis.findings.values()
        ],
        "exit_status": diagnosis.status,
        "ended_at_limit": profiled.was_ended,
        "elapsed_s": profiled.trial.wall_s,
        "recorded": profiled.profile is not None,
        "mpi_share": profiled.profile.mpi_share if profiled.profile else None,
    }
