"""`mpiric verify`: check the results of an executable on every CPU, MPI and network."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import cli_command, flag, json_option, option
from mpiric.cli._terminal import stdout_console
from mpiric.host.facts.local import LocalHost
from mpiric.host.toolchain import this_toolchain
from mpiric.model.errors import ExitCode
from mpiric.workflows.build.matrix_run import Cell, VerifyRequest
from mpiric.workflows.build.verify import verify

_WIDTH = 120  # width of a table that goes to a file


@cli_command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@option("--ranks", "N", "Number of ranks of each run.", default=2)
@option(
    "--network",
    "interfaces",
    "NAME",
    "Network interface to try; may be repeated.",
    multiple=True,
    default=("lo",),
)
@option("--hosts", "n1,n2,…", "Hosts of the ranks for the runs over each --network.")
@option(
    "--cpu",
    "cpus",
    "NAME",
    "CPU type to try, as QEMU names it; may be repeated. [default: all that QEMU has]",
    multiple=True,
)
@option(
    "--mpi",
    "mpis",
    "NAME",
    "MPI library to try, as `mpiric mpi list` names it; may be repeated. [default: all]",
    multiple=True,
)
@option(
    "--timeout",
    "timeout_s",
    "S",
    "Time limit of a run in seconds. [default: from the time that a run takes here]",
    type=float,
)
@flag("--exact", "Require that all variants agree in every digit; otherwise numbers may differ by rounding.")
@json_option
@click.argument("exe", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    exe: Path, arguments: tuple[str, ...], hosts: str, *, exact: bool, as_json: bool, **options: Any
) -> int:
    """Check the results of EXE on every CPU, MPI and network.

    Options of mpiric precede EXE; ARGUMENTS belong to the program. They can also be given as one text, with
    --args 'ARGUMENTS'.

    CPUs that this machine does not have are emulated by QEMU. The networks are shared memory, and TCP over
    each --network, between the --hosts or on this host. The hosts must see EXE and the current directory.
    """
    json_after_exe, program_arguments = _trailing_options(arguments)
    request = VerifyRequest(
        exe=exe,
        arguments=program_arguments,
        rounding=not exact,
        hosts=tuple(host for host in hosts.split(",") if host),
        **options,
    )
    as_json = as_json or json_after_exe
    cells = verify(request, LocalHost(), this_toolchain(), lambda line: print(line, file=sys.stderr))
    green = all(cell.is_green or cell.library_unfit for cell in cells)
    if as_json:
        rows = [{**asdict(cell), "green": cell.is_green} for cell in cells]
        print_json({"executable": str(exe), "ranks": request.ranks, "all_green": green, "runs": rows})
    else:
        _print(cells)
    return 0 if green else int(ExitCode.DIFFERENT)


def _trailing_options(arguments: tuple[str, ...]) -> tuple[bool, tuple[str, ...]]:
    """Split off ``--json``, ``--args 'WORDS'`` and ``--args WORDS…`` behind the executable."""
    import shlex

    if "--args" not in arguments:
        has_json = arguments[:1] == ("--json",)
        return has_json, arguments[1:] if has_json else arguments
    at = arguments.index("--args")
    following = arguments[at + 1 :]
    return "--json" in arguments[:at], tuple(shlex.split(following[0])) if len(following) == 1 else following


def _answer(cell: Cell) -> Text | str:
    if cell.library_unfit:
        return Text("not for this MPI", style="yellow")
    if cell.is_green:
        return "right, second try" if cell.is_second_try else "right"
    return Text(f"status {cell.status}" if cell.status else "differs", style="red")


def _print(cells: tuple[Cell, ...]) -> None:
    table = Table(box=None, header_style="bold")
    for title in ("CPU", "MPI", "network", "path", "answer", "seconds"):
        table.add_column(title)
    for cell in cells:
        answer = _answer(cell)
        seconds = "" if cell.seconds is None else f"{cell.seconds:.2f}"
        mpi = f"{cell.mpi}, translated" if cell.is_translated else cell.mpi or "-"
        table.add_row(cell.cpu, mpi, cell.network, cell.path or "-", answer, seconds)
    stdout_console(_WIDTH).print(table)
    for cell in cells:
        if not cell.is_green:
            where = f"{cell.cpu}, {cell.mpi or 'no MPI'}, {cell.network}"
            say(f"{where}: {cell.sentence}")
