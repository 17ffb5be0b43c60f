"""`mpiric verify EXE`: whether one file gives one answer on every CPU, MPI and network."""

import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._terminal import stdout_console
from mpiric.host.facts.local import LocalHost
from mpiric.host.toolchain import this_toolchain
from mpiric.model.errors import ExitCode
from mpiric.workflows.build.matrix_cell import Cell
from mpiric.workflows.build.matrix_run import VerifyRequest
from mpiric.workflows.build.verify import verify

_WIDTH = 120  # of a table that goes to a file


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="\b\nExamples:\n  mpiric verify ./lmp --args '-in in.lj'\n"
    "  mpiric verify --ranks 4 --hosts n1,n2 --network eth0 --network ib0 ./cg.A",
)
@click.option("--ranks", default=2, show_default=True, help="Ranks of each run.")
@click.option("--network", "interfaces", multiple=True, help="Network interface to try too; default lo.")
@click.option("--hosts", default="", help="Hosts (n1,n2,…) to spread the ranks over, on each --network.")
@click.option("--cpu", "cpus", multiple=True, help="QEMU's name of a CPU to try; default all it has.")
@click.option(
    "--mpi", "mpis", multiple=True, help="An MPI to try, as `mpiric mpi list` names it; default all."
)
@click.option(
    "--timeout", "timeout_s", type=float, help="Seconds one run may take; default by what it takes here."
)
@click.option("--exact", is_flag=True, help="Let no variant differ in the last digits.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("exe", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    exe: Path,
    arguments: tuple[str, ...],
    ranks: int,
    interfaces: tuple[str, ...],
    hosts: str,
    cpus: tuple[str, ...],
    mpis: tuple[str, ...],
    timeout_s: float | None,
    *,
    exact: bool,
    as_json: bool,
) -> int:
    """Run EXE on every CPU (emulated where it is not here) × MPI × network, and print the matrix.

    A network is this host's shared memory, and TCP through each --network: between the --hosts, or on this
    host alone when none are given. The hosts must see EXE and the current directory.
    """
    own, words = _own_options(arguments)
    request = VerifyRequest(
        exe=exe,
        arguments=words,
        ranks=ranks,
        timeout_s=timeout_s,
        interfaces=interfaces or ("lo",),
        rounding=not exact,
        cpus=cpus,
        mpis=mpis,
        hosts=tuple(host for host in hosts.split(",") if host),
    )
    as_json = as_json or own
    cells = verify(request, LocalHost(), this_toolchain(), lambda line: print(line, file=sys.stderr))
    green = all(cell.is_green or cell.library_unfit for cell in cells)
    if as_json:
        rows = [_row(cell) for cell in cells]
        print_json({"executable": str(exe), "ranks": ranks, "all_green": green, "runs": rows})
    else:
        _print(cells)
    return 0 if green else int(ExitCode.MISMATCH)


def _own_options(words: tuple[str, ...]) -> tuple[bool, tuple[str, ...]]:
    """Options may also follow the executable: ``--args 'WORDS'`` or ``--args WORDS…``, and ``--json``."""
    import shlex

    if "--args" not in words:
        return "--json" in words[:1], tuple(w for at, w in enumerate(words) if (at, w) != (0, "--json"))
    at = words.index("--args")
    given = words[at + 1 :]
    single = shlex.split(given[0]) if len(given) == 1 else list(given)
    return "--json" in words[:at], tuple(single)


def _row(cell: Cell) -> dict[str, object]:
    return {**asdict(cell), "green": cell.is_green}


def _answer(cell: Cell) -> Text | str:
    if cell.library_unfit:
        return Text("not for this MPI", style="yellow")
    if cell.is_green:
        return "right, second try" if cell.is_second_try else "right"
    return Text(f"status {cell.status}" if cell.status else "differs", style="red")


def _print(cells: tuple[Cell, ...]) -> None:
    found = Table(box=None, header_style="bold")
    for title in ("CPU", "MPI", "network", "path", "answer", "seconds"):
        found.add_column(title)
    for cell in cells:
        answer = _answer(cell)
        seconds = "" if cell.seconds is None else f"{cell.seconds:.2f}"
        mpi = f"{cell.mpi}, translated" if cell.is_translated else cell.mpi or "-"
        found.add_row(cell.cpu, mpi, cell.network, cell.path or "-", answer, seconds)
    stdout_console(_WIDTH).print(found)
    for cell in cells:
        if not cell.is_green:
            where = f"{cell.cpu}, {cell.mpi or 'no MPI'}, {cell.network}"
            say(f"{where}: {cell.sentence}")
