"""`mpiric extract`: write an executable with one CPU variant."""

from pathlib import Path

import click

from mpiric.cli._options import cli_command, option
from mpiric.workflows.build.inspect import extract_to


@cli_command()
@click.argument("exe", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@option(
    "--target",
    "NAME",
    "CPU generation to keep, in the spelling of any compiler (v3, haswell, core-avx2).",
    required=True,
)
@option("-o", "--output", "FILE", "File to write. [default: EXE.TARGET]")
def command(exe: Path, target: str, output: Path | None) -> None:
    """Write a copy of an executable with one CPU variant only.

    `mpiric cc`, `cxx` and `fc` make executables with variants; `mpiric inspect` lists them.

    On a CPU that cannot run this variant, the new executable says so and ends.
    """
    path = output or exe.with_name(f"{exe.name}.{target}")
    extract_to(exe, target, path)
    print(path)
