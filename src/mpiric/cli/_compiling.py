"""Running one compiler command for `mpiric cc` and its like; imports little: it is started for every file."""

import os
import sys
from collections.abc import Callable, Sequence

from mpiric.cli._errors import exit_with
from mpiric.cli._streams import raw


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
        raw(sys.stderr).write(outcome.messages)  # the compiler's own, colours included
    return outcome.status


def console_script(verb: str) -> Callable[[], None]:
    """The entry of ``mpiric-cc`` and its like."""
    return lambda: exit_with(lambda: run(verb, tuple(sys.argv[1:])))
