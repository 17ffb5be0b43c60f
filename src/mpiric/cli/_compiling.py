"""`mpiric cc`, `cxx` and `fc`: run one compiler command.

Imports little, since it is started for every source file; `mpiric-cc` starts without click.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpiric.cli._errors import exit_with
from mpiric.cli._streams import raw

if TYPE_CHECKING:
    import click


COMPILERS = {"cc": "C", "cxx": "C++", "fc": "Fortran"}  # command → language
_HELP = """Compile {language} for several CPU generations.

Write the command of your compiler after `mpiric {verb}`, or its arguments only, with the compiler in
--compiler or ${variable}. The result contains a variant for each CPU generation in --targets (or
$MPIRIC_TARGETS), and selects the best variant for the CPU at its start. --no-fma and
--explain-vectorisation are further options of mpiric; every other option goes to the compiler. Example:
make CC='mpiric cc mpicc' CXX='mpiric cxx mpicxx' FC='mpiric fc mpifort'"""


def run(verb: str, arguments: tuple[str, ...]) -> int:
    """Compile, print the messages, and return the exit status of the compiler."""
    from mpiric.build.plan import take_wanted
    from mpiric.host.toolchain import this_toolchain
    from mpiric.workflows.build.cc import build, once

    build_options = take_wanted(os.environ)
    toolchain = this_toolchain()

    def machines(machine: str) -> Sequence[str]:
        from mpiric.build.cluster import machines_of

        return machines_of(toolchain, machine)

    outcome = once(build(verb, arguments, toolchain, machines, build_options))
    if sys.stderr:  # None if it was closed
        for sentence in outcome.sentences:
            print(f"mpiric: {sentence}", file=sys.stderr)
        raw(sys.stderr).write(outcome.messages)  # unchanged, with colours
    return outcome.status


def console_script(verb: str) -> None:
    """Run ``mpiric-cc``, ``mpiric-cxx`` or ``mpiric-fc`` and end this process."""
    exit_with(lambda: run(verb, tuple(sys.argv[1:])))


def compiler_verb(verb: str) -> "click.Command":
    """Return a click command that passes all of its arguments to the compiler."""
    import click

    explanation = _HELP.format(language=COMPILERS[verb], variable=f"MPIRIC_{verb.upper()}", verb=verb)
    pass_through = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}

    @click.command(name=verb, context_settings=pass_through, help=explanation, add_help_option=False)
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> int:
        return run(verb, arguments)

    return command
