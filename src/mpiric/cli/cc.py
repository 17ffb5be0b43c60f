"""`mpiric cc`: compile C with a variant for each CPU generation."""

from typing import Any

from mpiric.cli._compiling import console_script

main = console_script("cc")


def __getattr__(name: str) -> Any:
    """Make the click command when `mpiric` needs it, since `mpiric-cc` starts without click."""
    if name != "command":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mpiric.cli._compiling import compiler_verb

    return compiler_verb("cc", "Compile C like the real compiler, with a variant for each CPU generation.")
