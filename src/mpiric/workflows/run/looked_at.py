"""Whether a run with a recipe is looked at: as a job that is explored, or as the first whole one."""

from collections.abc import Callable
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.processes.preparing import make_ready
from mpiric.workflows.run.explore import explore
from mpiric.workflows.run.first_run import first_whole_run, is_first_whole_run
from mpiric.workflows.run.run import PreparedRun
from mpiric.workflows.run.with_hint import with_hint

_HINT = "the run goes on without it; `mpiric tune --only io -- CMD` finds what can be set here"


def run_looked_at(
    prepared: PreparedRun, store: Path | None, host: Host, say: Callable[[str], None], *, explores: bool
) -> int | None:
    """Run it; the program's exit status, None where nothing is to be looked at and nothing was run.

    What cannot be done before it is said, and the run goes on as it would without.
    """
    environment = {**prepared.environment, **prepared.launch.environment}
    if complaint := make_ready(prepared.launch, environment, Path.cwd()):
        say(with_hint(complaint, _HINT))
    status = explore(prepared, store, host, say) if explores else None
    if status is None and is_first_whole_run(prepared):
        status = first_whole_run(prepared, store, host, say)
    return status
