"""Whether a run with a recipe is looked at: as a job that is explored, or as the first whole one."""

from collections.abc import Callable
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.processes.preparing import make_ready
from mpiric.workflows.run.explore import explore
from mpiric.workflows.run.first_run import first_whole_run, is_first_whole_run
from mpiric.workflows.run.run import PreparedRun
from mpiric.workflows.run.with_hint import with_hint

_WITHOUT_HINT = "the run continues without it; `mpiric tune --only io -- CMD` finds settings for this site"


def run_observed(
    prepared: PreparedRun, store: Path | None, host: Host, say: Callable[[str], None], *, explores: bool
) -> int | None:
    """Run an explored job or a first whole run, and return its exit status.

    Returns None if the run is neither of them and was not made. A preparation that fails is reported.
    """
    environment = {**prepared.environment, **prepared.launch.environment}
    if complaint := make_ready(prepared.launch, environment, Path.cwd()):
        say(with_hint(complaint, _WITHOUT_HINT))
    status = explore(prepared, store, host, say) if explores else None
    if status is None and is_first_whole_run(prepared):
        status = first_whole_run(prepared, store, host, say)
    return status
