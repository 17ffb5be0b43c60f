"""Removal of remains of ended runs on nodes without mpiric: shared memory and files of launchers.

The user's launch line starts the module that cleans up on every node of the job, after several ended runs
and at the end.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.model.job import Job
from mpiric.workflows.launch.nodes import runs_elsewhere, with_program

_EVERY = 8  # number of ended runs; each leaves about 10 MB of shared memory per rank
_LIMIT_S = 60.0
_CODE = """
import os, sys
names = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PALS_LOCAL_RANKID")
if next((os.environ[name] for name in names if name in os.environ), "0") == "0":
    sys.path.insert(0, sys.argv[1])
    from mpiric.host.processes.leftovers import remove_recent
    remove_recent(float(sys.argv[2]))
"""


def cleaner(python: str, begun_s: float) -> tuple[str, ...]:
    """Return the program that removes remains of runs since ``begun_s`` on the node where it runs."""
    return (python, "-I", "-S", "-c", _CODE, str(Path(__file__).parents[3]), f"{begun_s:.3f}")


@contextmanager
def cleaned_nodes(job: Job, nodes: int, host: Host) -> Iterator[Callable[[], None]]:
    """Clean the nodes of a job after its ended runs; yield the function to call after each of them.

    Nothing is done if all ranks run on this host.
    """
    begun_s, ended = time.time(), 0  # the clocks of a cluster's nodes agree
    elsewhere = runs_elsewhere(job, nodes, host)

    def clean() -> None:
        launch = launchers.render(with_program(job, cleaner(host.python, begun_s)), [])
        changes: dict[str, str | None] = {**launch.environment, **dict.fromkeys(launch.unset)}
        host.run(launch.argv, environment=changes, timeout_s=_LIMIT_S)

    def after_ended_run() -> None:
        nonlocal ended
        ended += 1
        if elsewhere and ended % _EVERY == 0:
            clean()

    try:
        yield after_ended_run
    finally:
        if elsewhere and ended % _EVERY:
            clean()
