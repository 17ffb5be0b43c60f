"""Run a command in the foreground, and name the cause of a failure if it is known."""

import sys
from collections.abc import Callable

from mpiric.host.host import Host
from mpiric.host.processes.foreground import Output, run_in_foreground
from mpiric.host.processes.output_tap import OutputTap
from mpiric.lab.endings import OutputTail, explain_ending
from mpiric.workflows.run.run import PreparedRun


def run_explained(prepared: PreparedRun, host: Host, say: Callable[[str], None]) -> int:
    """Run the command and return its exit status. Only its error output is searched for known endings.

    Raises NotFoundError if it cannot be started.
    """
    assert prepared.job is not None
    tail = OutputTail(host)
    tap = OutputTap(tail.feed, through_launcher=True, stream=sys.stderr)
    ran = run_in_foreground(prepared.launch, prepared.environment, Output.STDOUT, error_tap=tap)
    if ran.status and not ran.was_asked_to_end:
        ending = explain_ending(tail.failed_run(prepared.job, ran.status), host)
        if ending is not None:
            say(": ".join((f"{ending.finding.says}; {ending.finding.fix}", *ending.commands)))
    return ran.status
