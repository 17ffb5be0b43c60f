"""`mpiric extract EXE --target T`: an executable that holds one variant."""

from pathlib import Path

import click

from mpiric.workflows.build.inspect import extract_to


@click.command(epilog="\b\nExamples:\n  mpiric extract ./lmp --target haswell -o lmp.haswell")
@click.argument("exe", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--target", required=True, help="The variant to keep, by any compiler's word for it.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where to write it; default EXE.TARGET."
)
def command(exe: Path, target: str, output: Path | None) -> None:
    """Write the executable with one variant: it runs that one or says why it cannot."""
    made = output or exe.with_name(f"{exe.name}.{target}")
    extract_to(exe, target, made)
    print(made)
