"""Running one compiler command for `mpiric cc` and its like; imports little: it is started for every file."""

import os
import sys
from collections.abc import Callable, Sequence


def run(verb: str, words: tuple[str, ...]) -> int:
    """Build, print, and give the compiler's exit status."""
    from mpiric.build.plan import take_wanted
    from mpiric.host.toolchain import this_toolchain
    from mpiric.workflows.build.cc import build, once

    wanted = take_wanted(os.environ)
    toolchain = this_toolchain()

    def machines(machine: str) -> Sequence[str]:
        from mpiric.build.cluster import machines_of

        return machines_of(toolchain, machine)

    outcome = once(build(verb, words, toolchain, machines, wanted))
    if sys.stderr:  # there is none when it was closed
        for sentence in outcome.sentences:
            print(f"mpiric: {sentence}", file=sys.stderr)
        sys.stderr.write(outcome.words)
    return outcome.status


def console_script(verb: str) -> Callable[[], None]:
    """The entry of ``mpiric-cc`` and its like."""

    def main() -> None:
        from mpiric.cli.main import compile_with

        compile_with(verb, sys.argv[1:])

    return main
