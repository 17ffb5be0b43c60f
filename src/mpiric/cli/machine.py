"""`mpiric machine`: show topology, networks, MPI libraries and compilers."""

import sys
from pathlib import Path

import click

from mpiric.cli._command import cli_command
from mpiric.cli._json import print_json
from mpiric.cli._machine_text import survey_text
from mpiric.cli._options import (
    json_option,
)
from mpiric.cli._terminal import status_line, stdout_console
from mpiric.cli._topology_picture import topology_picture
from mpiric.host.facts.local import LocalHost
from mpiric.workflows.machine import survey, topology


@cli_command(
    "machine",
    epilog="\b\nExamples:\n"
    "  mpiric machine                               this machine\n"
    "  mpiric machine --json | jq .mpis             the MPI libraries, for scripts\n"
    "  mpiric machine --topology node.xml           another machine, exported there by `lstopo node.xml`\n"
    "  mpiric machine --topology 'pack:2 numa:4 l3:4 core:4 pu:2'",
)
@json_option
@click.option(
    "--topology",
    "source",
    metavar="FILE|SYNTHETIC",
    help="Show this topology instead: an XML file of hwloc, or a synthetic description.",
)
def command(*, as_json: bool, source: str | None) -> None:
    """Show topology, CPU, networks, MPI libraries and compilers."""
    host = LocalHost()
    console = stdout_console()
    if source is not None:
        other = topology(host, source)
        if as_json:
            print_json({"topology": other})
        else:
            console.print(topology_picture(other))
        return
    with status_line("reading the machine and its MPI libraries"):
        result = survey(host, str(Path.cwd()))
    if as_json:
        print_json(result)
    else:
        console.print(survey_text(result))
    sys.stdout.flush()
