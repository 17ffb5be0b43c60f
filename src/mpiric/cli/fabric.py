"""`mpiric fabric`: which transport and network a command really uses, and which would be faster."""

import os
import sys
from pathlib import Path

import click

from mpiric.cli._completing import files
from mpiric.cli._json import print_json
from mpiric.host.local import LocalHost
from mpiric.model.duration import parse_duration
from mpiric.report.fabric_json import fabric_json
from mpiric.report.fabric_text import fabric_text
from mpiric.workflows.fabric import FabricRequest, examine


@click.command(
    "fabric",
    context_settings={"allow_interspersed_args": False},
    epilog="\b\nExamples:\n"
    "  mpiric fabric -- mpirun --host n1:2,n2:2 ./app        between nodes and on each of them\n"
    "  mpiric fabric --json -- srun -N 2 -n 4 ./app | jq .recommended\n"
    "  mpiric fabric --limit 5m -- mpiexec -n 64 ./app       give the program time to talk",
)
@click.option(
    "--limit", default="30s", show_default=True, metavar="TIME", help="CMD itself is ended after that."
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Rounds in which the best way must beat the library's own.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="-- CMD", required=True
)
def command(command_line: tuple[str, ...], limit: str, rounds: int, *, as_json: bool) -> None:
    """Show which transport and network carries the messages of CMD, why, and which would be faster.

    CMD is run once with its MPI library talking; then a small program takes its place and measures every
    transport and network that the library could use, for ranks on one NUMA node, on one node and on two.
    """
    request = FabricRequest(
        argv=command_line,
        working_directory=str(Path.cwd()),
        environment=dict(os.environ),
        limit_s=parse_duration(limit),
        rounds=rounds,
    )
    fabric = examine(request, LocalHost(), lambda words: print(f"mpiric: {words}", file=sys.stderr))
    if as_json:
        print_json(fabric_json(fabric))
    else:
        print(fabric_text(fabric))
