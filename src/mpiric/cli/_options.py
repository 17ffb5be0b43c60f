"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Any

import click

from mpiric.cli._completing import files, mpi_labels

FILE: dict[str, Any] = {"type": click.Path(path_type=Path), "metavar": "FILE"}
DIRECTORY: dict[str, Any] = {"type": click.Path(path_type=Path), "metavar": "DIR"}
COUNT: dict[str, Any] = {"type": click.IntRange(min=1), "metavar": "N"}
BATCH_JOBS = "Batch jobs"  # title of the group of options that send a command to a scheduler

command_line = click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="-- CMD", required=True
)
command_line_or_none = click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="[-- CMD]"
)
mpi_option = click.option(
    "--mpi",
    "mpi_label",
    default="",
    metavar="NAME",
    shell_complete=mpi_labels,
    help="Run under this MPI library; `mpiric mpi list` shows the names.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
store_option = click.option("--store", **DIRECTORY, help="Directory in which tunes are kept.")
allow_rounding_of_others = click.option(
    "--allow-rounding",
    is_flag=True,
    help="Apply a recipe of another user even if it may change the last digits of results.",
)
confidence_option = click.option(
    "--confidence",
    type=float,
    default=0.99,
    show_default=True,
    metavar="P",
    help="Confidence level of the verdict.",
)
minimum_effect_option = click.option(
    "--minimum-effect",
    type=float,
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="Smallest relative difference that is reported.",
)
in_place_option = click.option(
    "--in-place", is_flag=True, help="Run in the current directory instead of a copy of it."
)
