"""`mpiric doctor`: findings only, for people in a hurry and for CI."""

import os
import sys
from pathlib import Path

import click

from mpiric.cli._completing import files
from mpiric.cli._json import print_json
from mpiric.cli.profile import letter_console
from mpiric.host.foreground import Output
from mpiric.host.local import LocalHost
from mpiric.model.mpi_library import AbiFamily
from mpiric.report.profile_json import advice_json, finding_json
from mpiric.report.profile_text import print_findings
from mpiric.workflows.doctor import Diagnosis, diagnose
from mpiric.workflows.profile import ProfileRequest

_EPILOG = """\b
Examples:
  mpiric doctor -- mpirun -n 4 ./app small.dat
  mpiric doctor --json -- mpirun -n 4 ./app small.dat | jq -r '.findings[].id'
"""


@click.command(epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@click.option(
    "--output",
    "-o",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the record there.",
)
@click.option(
    "--abi",
    type=click.Choice([f.value for f in AbiFamily]),
    help="Family of the MPI library, as for `profile`.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object on stdout; the program's output goes to stderr."
)
@click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="-- CMD", required=True
)
def command(command_line: tuple[str, ...], directory: Path | None, abi: str | None, *, as_json: bool) -> int:
    """Run CMD once and say what is wrong with how it runs here: each finding with its evidence and its fix.

    Give it a short input. The exit status is the program's own.
    """
    request = ProfileRequest(
        argv=command_line,
        working_directory=str(Path.cwd()),
        environment=dict(os.environ),
        directory=directory,
        family=AbiFamily(abi) if abi else None,
        output=Output.STDERR if as_json else Output.STDOUT,
    )
    diagnosis = diagnose(request, LocalHost())
    done = diagnosis.profiled
    if done.why_not is not None:
        print(f"mpiric: {done.why_not.message}; what follows is not about the run", file=sys.stderr)
    if as_json:
        print_json(_as_json(diagnosis))
    else:
        print_findings(diagnosis.findings, letter_console())
    return done.ran.status


def _as_json(diagnosis: Diagnosis) -> dict[str, object]:
    by_id = {advice.finding.id: advice_json(advice) for advice in diagnosis.of_run}
    profile = diagnosis.profiled.profile
    return {
        "findings": [by_id.get(finding.id) or finding_json(finding) for finding in diagnosis.findings],
        "exit_status": diagnosis.profiled.ran.status,
        "elapsed_s": diagnosis.profiled.ran.elapsed_s,
        "recorded": profile is not None,
        "mpi_share": profile.mpi_share if profile else None,
    }
