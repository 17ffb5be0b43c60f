"""`mpiric fc`: compile Fortran with a variant for each CPU generation."""

from typing import Any

from mpiric.cli._compiling import console_script

main = console_script("fc")


def __getattr__(name: str) -> Any:
    """Make the click command when `mpiric` needs it, since `mpiric-fc` starts without click."""
    if name != "command":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mpiric.cli._compiling import compiler_verb

    return compiler_verb(
        "fc", "Compile Fortran like the real compiler, with a variant for each CPU generation."
    )
