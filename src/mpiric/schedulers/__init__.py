"""Schedulers, one per file or folder: recognition of allocations, submission and tracking of jobs."""

import sys
from functools import cache

from mpiric.host.host import Host
from mpiric.host.packaged import modules_of
from mpiric.model.batch import Allocation
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.schedulers._batch import BatchScheduler
from mpiric.schedulers._scheduler import JobRequest, Patience, Scheduler, SubmitSettings
from mpiric.schedulers._script import (
    LayoutRequest,
    ScriptOptions,
    SiteDefaults,
    plan_layout,
    read_site_defaults,
    script_lines,
    text_of,
)
from mpiric.schedulers._submission import (
    INPUT,
    JOBS,
    LOG,
    NAME_VARIABLE,
    OUTPUT,
    ROUNDS,
    SCRIPT,
    STATUS,
    Submission,
    array_settings,
    element_of,
    job_settings,
    name_of,
    request_of,
    round_script,
    submission_script,
)

NO_JOB = "no job"


@cache
def schedulers() -> dict[str, Scheduler]:
    """Return name → scheduler, in alphabetical order."""
    modules = modules_of(sys.modules[__name__])
    return {name: module.SCHEDULER for name, module in modules.items()}


def find_allocation(host: Host) -> Allocation:
    """Return the allocation of this process, or this machine outside of an allocation."""
    for scheduler in sorted(schedulers().values(), key=lambda scheduler: scheduler.turn):
        allocation = scheduler.recognise(host)
        if allocation is not None:
            return allocation
    raise AssertionError("local recognises everything")


def job_around(host: Host) -> str:
    """Return for example ``slurm job`` in a job of this scheduler, ``no job`` outside of jobs."""
    allocation = find_allocation(host)
    return f"{allocation.scheduler} job" if allocation.job else NO_JOB


def batch_schedulers() -> dict[str, BatchScheduler]:
    """Return the schedulers that accept jobs."""
    return {name: entry for name, entry in schedulers().items() if isinstance(entry, BatchScheduler)}


def batch_scheduler(name: str) -> BatchScheduler:
    """Return a scheduler by its name. Raises MpiricError for an unknown name."""
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
        around = None  # contradictory variables are reported where the allocation is needed
    installed = (entry for entry in by_turn() if host.which(entry.submitter) is not None)
    return around or next(installed, None)


def by_turn() -> list[BatchScheduler]:
    """Return the schedulers that accept jobs, in the order of their detection on a login node."""
    return sorted(batch_schedulers().values(), key=lambda scheduler: scheduler.installed_turn)


def installed_batch_scheduler(host: Host) -> BatchScheduler:
    """Return `batch_scheduler_here`; raises NotFoundError if there is none."""
    scheduler = batch_scheduler_here(host)
    if scheduler is None:
        submitters = ", ".join(entry.submitter for entry in by_turn())
        raise NotFoundError(
            f"no scheduler takes jobs here: none of {submitters} is installed",
            hint="run this on a login node of a cluster",
        )
    return scheduler
