"""Placement of the MPI jobs that are running on this node, with findings."""

from mpiric.host.host import Host
from mpiric.machine import read_machine
from mpiric.machine.running_ranks import see_jobs, see_process
from mpiric.model.errors import NotFoundError
from mpiric.model.placement import ProcessSeen
from mpiric.placement.verification import judge
from mpiric.workflows.placement.verify import Checked, node_of


def look(host: Host, which: str, working_directory: str) -> Checked:
    """Return all jobs, or only the job ``which``: a process, its launcher, or a job of the scheduler.

    Other jobs on the same cores are reported as well. Raises NotFoundError if there is nothing to report.
    """
    everyone = see_jobs(host)
    machine = read_machine(host, working_directory)
    chosen = tuple(process for process in everyone if not which or _is_of(process, which))
    if which and not chosen and which.isdigit():
        alone = see_process(host, int(which))
        jobs = {process.job for process in everyone if _below(host, process.pid, int(which))}
        chosen = tuple(process for process in everyone if process.job in jobs) or ((alone,) if alone else ())
    else:
        jobs = {process.job for process in chosen}
        chosen = tuple(process for process in everyone if process.job in jobs)
    if which and not chosen:
        raise NotFoundError(f"no process or job {which!r} on this node", hint="mpiric ps shows all jobs")
    unchosen = tuple(process for process in everyone if process not in chosen)
    return Checked(chosen, judge(node_of(machine), (*chosen, *unchosen), pids={p.pid for p in chosen}))


def _is_of(process: ProcessSeen, which: str) -> bool:
    """Return whether a pid, launcher's pid, step (``12.0``) or job (``12.server``) selects a process."""
    names = {process.job.split()[-1], process.scheduled}
    return which in {str(process.pid), *names, *(name.split(".")[0] for name in names if name)}


def _below(host: Host, pid: int, root: int) -> bool:
    """Return whether ``root`` is an ancestor."""
    while pid > 1:
        status = host.read_text(f"/proc/{pid}/status") or ""
        parent = next((line.split()[1] for line in status.splitlines() if line.startswith("PPid:")), "0")
        pid = int(parent)
        if pid == root:
            return True
    return False
