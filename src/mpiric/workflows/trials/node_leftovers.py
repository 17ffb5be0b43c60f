"""Remove what ended runs leave on the nodes where mpiric does not run: shared memory, launchers' files.

The user's launch line starts the module that cleans the first node on every node of the job, when some runs
have been ended and when the tune is over.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.lab.lab import Lab
from mpiric.workflows.launch.on_nodes import runs_elsewhere, with_program
from mpiric.workflows.launch.parse_job import ParsedJob

_EVERY = 8  # ended runs: each leaves some 10 MB of shared memory for each rank
_LIMIT_S = 60.0
_CODE = """
import os, sys
names = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PALS_LOCAL_RANKID")
if next((os.environ[name] for name in names if name in os.environ), "0") == "0":
    sys.path.insert(0, sys.argv[1])
    from mpiric.host.processes.leftovers import remove_recent
    remove_recent(float(sys.argv[2]))
"""


@contextmanager
def cleaned_nodes(lab: Lab, parsed: ParsedJob, host: Host) -> Iterator[None]:
    """Clean the nodes of a job after its ended runs; nothing is done where all ranks run on this host."""
    if not runs_elsewhere(parsed.job, parsed.nodes, host):
        yield
        return
    begun_s, ended = time.time(), 0  # nodes of a cluster agree on the time

    def clean() -> None:
        package = str(Path(__file__).parents[3])
        argv = (host.python, "-I", "-S", "-c", _CODE, package, f"{begun_s:.3f}")
        launch = launchers.render(with_program(parsed.job, argv), [])
        changes: dict[str, str | None] = {**launch.environment, **dict.fromkeys(launch.unset)}
        host.run(launch.argv, environment=changes, timeout_s=_LIMIT_S)

    def after_ended_run() -> None:
        nonlocal ended
        ended += 1
        if ended % _EVERY == 0:
            clean()

    lab.after_ended_run = after_ended_run
    try:
        yield
    finally:
        if ended % _EVERY:
            clean()
