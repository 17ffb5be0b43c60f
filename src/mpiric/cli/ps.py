"""`mpiric ps`: show the placement of running jobs on this node, and ranks that wait."""

from pathlib import Path

import click

from mpiric.cli._json import print_json
from mpiric.cli._options import cli_command, json_option
from mpiric.cli._placement_json import job_json
from mpiric.host.facts.local import LocalHost
from mpiric.report.placement_text import verdict_text
from mpiric.workflows.placement.verify import look
from mpiric.workflows.trials.last_look import stuck_jobs


@cli_command("ps")
@json_option
@click.argument("which", required=False, default="", metavar="[PID|JOB]")
def command(*, which: str, as_json: bool) -> None:
    """Show where ranks of running jobs run, and which ranks wait.

    The MPI calls of a rank are known if the job was started by `mpiric profile` or `mpiric doctor`.

    The jobs are observed from outside and are not changed.
    """
    host = LocalHost()
    checked = look(host, which, str(Path.cwd()))
    findings = (*stuck_jobs(checked.processes, host), *checked.findings)
    if as_json:
        print_json(job_json(checked.processes, findings))
    else:
        print(verdict_text(checked.processes, findings))
