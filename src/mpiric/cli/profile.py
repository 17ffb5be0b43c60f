"""`mpiric profile`: run a command once and report where its time goes."""

import sys
from pathlib import Path
from typing import Any

import click
from cloup import option_group
from rich.console import Console

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    BATCH_JOBS,
    choice,
    cli_command,
    command_line,
    flag,
    launch_request_of,
    mpi_option,
    option,
)
from mpiric.cli._submitting import refuse_unsubmitted, run_submitted, submit_options
from mpiric.cli._terminal import WIDTH_OF_FILES, stderr_console, stdout_console
from mpiric.host.facts.local import LocalHost
from mpiric.host.processes.foreground import Output
from mpiric.model.amount import parse_duration, show_duration
from mpiric.model.errors import MpiricError, NoRoomError, after_run
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import Profile
from mpiric.report.json_objects import advice_json, profile_json
from mpiric.report.profile_text import print_findings, print_profile
from mpiric.workflows.profile.profile import Profiled, prepare, profile
from mpiric.workflows.profile.request import ProfileRequest, make_directory, write_report

abi_option = choice(
    [family.value for family in AbiFamily],
    "--abi",
    "ABI family of the MPI library; needed only if neither the launcher nor the executable shows it.",
)
json_of_run_option = flag(
    "--json", "as_json", "Print the result as one JSON object; the output of the program goes to stderr."
)


@cli_command(context_settings={"allow_interspersed_args": False})
@option_group(
    "Recorded data",
    option("--for", "limit", "TIME", "End the run after this time (90s, 10m) and keep what was recorded."),
    flag("--call-sites", "Record the addresses from which MPI is called."),
    flag("--imbalance", "Measure waiting time by a barrier before each blocking collective."),
    flag("--no-io", "Do not record POSIX I/O."),
    choice(
        ["levels", "names"],
        "--regions",
        'Phases of the program. levels: MPI_Pcontrol(N) begins phase N; names: MPI_Pcontrol(1, "name") '
        'begins and MPI_Pcontrol(-1, "name") ends a phase. [default: levels]',
    ),
    mpi_option,
    abi_option,
)
@option_group(BATCH_JOBS, submit_options)
@option_group(
    "Output",
    option(
        "--output",
        "-o",
        "directory",
        "DIR",
        "Directory of record and report, on a file system that all nodes share. A record of an earlier "
        "profile in it is replaced. [default: a new directory in the current one]",
        type=click.Path(path_type=Path, file_okay=False),
    ),
    flag(
        "--quiet", "-q", "Write the report and print no summary. The cause of a failed run is still printed."
    ),
    json_of_run_option,
    flag("--dry-run", "Print the command as it would be run, and run nothing."),
)
@command_line
def command(command_line: tuple[str, ...], as_json: bool, dry_run: bool, **options: Any) -> int:  # noqa: FBT001
    """Run CMD once and report where its time goes.

    Input, output and exit status of the program are unchanged. The summary goes to stdout if that is a
    terminal, and to stderr otherwise. The full report is report.html in the directory of --output.
    """
    refuse_unsubmitted(options)
    request = launch_request_of(
        ProfileRequest,
        command_line,
        options,
        mpi=options["mpi_label"],
        family=AbiFamily(options["abi"]) if options["abi"] else None,
        output=Output.STDERR if as_json else Output.STDOUT,
        options=_runtime_options(options),
        limit_s=parse_duration(options["limit"]) if options["limit"] else None,
    )
    if dry_run:
        prepared = prepare(request, LocalHost())
        if prepared.why_not is not None:
            raise prepared.why_not
        print(prepared.launch.shell_line())
        return 0
    if options["submit"]:
        return _submitted(request)
    done = profile(request, LocalHost())
    with after_run(done.status):
        if done.was_ended:
            say(f"the run was ended after {show_duration(done.trial.wall_s)} (--for)")
        if as_json:
            print_json(_as_json(done))
        elif done.ending is not None:
            print_findings([done.ending], report_console())
        if done.profile is None:
            raise done.why_not or MpiricError("nothing was recorded", hint="see `mpiric doctor -- CMD`")
        page = _write_report(done.profile, done.prepared.directory)
        if not as_json and not options["quiet"]:
            print_profile(done.profile, report_console(), page)
        sys.stdout.flush()
    return done.status


def _as_json(done: Profiled) -> dict[str, Any]:
    mark, pace = done.pace
    return {
        **(profile_json(done.profile) if done.profile else {}),
        "recorded": done.profile is not None,
        "directory": str(done.prepared.directory),
        "ending": advice_json(done.ending) if done.ending else None,
        "exit_status": done.status,
        "ended_at_limit": done.was_ended,
        "pace": [list(step) for step in pace],
        "pace_mark": mark,
    }


def _write_report(profile_: Profile, directory: Path) -> str:
    """Write the report and return the path of the page, "" if it cannot be written."""
    try:
        return str(write_report(profile_, directory, LocalHost()))
    except NoRoomError as error:
        say(error.message)
        return ""


def _submitted(request: ProfileRequest) -> int:
    """Profile in a job whose files are in the directory of the record, and print the program's output."""
    directory = make_directory(request)
    arguments = ("--output", str(directory), *(("--mpi", request.mpi) if request.mpi else ()))
    return run_submitted(directory, arguments, budget_s=0.0, afresh=True)


def _runtime_options(options: dict[str, Any]) -> dict[str, str]:
    settings = {}
    if options["call_sites"]:
        settings["MPIRIC_CALL_SITES"] = "1"
    if options["imbalance"]:
        settings["MPIRIC_IMBALANCE"] = "1"
    if options["no_io"]:
        settings["MPIRIC_POSIX_IO"] = "0"
    if options["regions"]:
        settings["MPIRIC_REGIONS"] = options["regions"]
    return settings


def report_console() -> Console:
    """Return the console of stdout, or of stderr if the output of the program goes to a file or a pipe."""
    if sys.stdout.isatty():
        return stdout_console()
    return stderr_console(width=WIDTH_OF_FILES)
