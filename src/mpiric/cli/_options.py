"""What options and arguments of several verbs have in common."""

from pathlib import Path
from typing import Any

import click

from mpiric.cli._completing import files, mpi_labels

FILE: dict[str, Any] = {"type": click.Path(path_type=Path), "metavar": "FILE"}
DIRECTORY: dict[str, Any] = {"type": click.Path(path_type=Path), "metavar": "DIR"}
COUNT: dict[str, Any] = {"type": click.IntRange(min=1), "metavar": "N"}

command_line = click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="-- CMD", required=True
)
command_line_or_none = click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="-- CMD"
)
mpi_option = click.option(
    "--mpi",
    "mpi_label",
    default="",
    metavar="NAME",
    shell_complete=mpi_labels,
    help="Run under this MPI; see `mpiric mpi list`.",
)
