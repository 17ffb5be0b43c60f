"""The schedulers there are: one for every file or folder here."""

from functools import cache
from importlib import import_module

from mpiric.host.host import Host
from mpiric.model.allocation import Allocation
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.registry import modules_of
from mpiric.schedulers._batch import BatchScheduler
from mpiric.schedulers._scheduler import Scheduler

NO_JOB = "no job"


@cache
def schedulers() -> dict[str, Scheduler]:
    """Name → scheduler, in alphabetical order."""
    modules = modules_of(import_module("mpiric.schedulers"))
    return {name: module.SCHEDULER for name, module in modules.items()}


def find_allocation(host: Host) -> Allocation:
    """The allocation this process is in; this machine alone when it is in none."""
    for scheduler in sorted(schedulers().values(), key=lambda scheduler: scheduler.turn):
        allocation = scheduler.recognise(host)
        if allocation is not None:
            return allocation
    raise AssertionError("local recognises everything")


def job_around(host: Host) -> str:
    """``slurm job`` inside of a job of that scheduler, ``no job`` outside of any."""
    allocation = find_allocation(host)
    return f"{allocation.scheduler} job" if allocation.job else NO_JOB


def batch_schedulers() -> dict[str, BatchScheduler]:
    """Schedulers that take jobs."""
    return {name: entry for name, entry in schedulers().items() if isinstance(entry, BatchScheduler)}


def batch_scheduler(name: str) -> BatchScheduler:
    """Look one up by its name. Raises MpiricError for a name that none of them has."""
    known_schedulers = batch_schedulers()
    if name not in known_schedulers:
        raise MpiricError(
            f"{name!r} is not a batch scheduler", hint=f"known are: {', '.join(known_schedulers)}"
        )
    return known_schedulers[name]


def batch_scheduler_here(host: Host) -> BatchScheduler | None:
    """Find the scheduler in ``$MPIRIC_SCHEDULER``, of the current job, or with installed commands."""
    if name := host.environ.get("MPIRIC_SCHEDULER", ""):
        return batch_scheduler(name)
    try:
        around = batch_schedulers().get(find_allocation(host).scheduler)
    except MpiricError:
        around = None  # an allocation that contradicts itself is reported where it matters
    installed = (entry for entry in by_turn() if host.which(entry.submitter) is not None)
    return around or next(installed, None)


def by_turn() -> list[BatchScheduler]:
    """Schedulers that take jobs, in the order in which they are looked for on a login node."""
    return sorted(batch_schedulers().values(), key=lambda scheduler: scheduler.installed_turn)


def installed_batch_scheduler(host: Host) -> BatchScheduler:
    """`batch_scheduler_here`; raises NotFoundError where there is none."""
    scheduler = batch_scheduler_here(host)
    if scheduler is None:
        submitters = ", ".join(entry.submitter for entry in by_turn())
        raise NotFoundError(
            f"no scheduler takes jobs here: none of {submitters} is installed",
            hint="run this on a login node of a cluster",
        )
    return scheduler
