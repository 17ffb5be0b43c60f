"""Whether a job is too near its time limit to run other than with its recipe."""

from math import inf

from mpiric.host.host import Host
from mpiric.schedulers import batch_scheduler_here
from mpiric.tuning.explore.ledger import Ledger, Side
from mpiric.workflows.run.run import AppliedRecipe

_MARGIN = 1.25  # required time left, in units of the longest run so far


def near_its_limit(ledger: Ledger, applied: AppliedRecipe, host: Host) -> str:
    """Return the reason why a run without the recipe may exceed the time limit of this job, "" if it fits.

    Before the first whole run, the time of a run is unknown, so that the recipe is applied.
    """
    left_s = time_left_s(host)
    if left_s == inf:
        return ""
    if left_s is None:
        return "the scheduler does not report the time left"
    needed_s = original_s(ledger, applied)
    if needed_s is None:
        return "the time of a whole run is unknown, and this job has a time limit"
    if needed_s * _MARGIN > left_s:
        return f"a run without the recipe takes about {needed_s:.0f} s, and the job ends in {left_s:.0f} s"
    return ""


def original_s(ledger: Ledger, applied: AppliedRecipe) -> float | None:
    """Return the longest expected time of a run without the recipe; None before the first job."""
    evidence = applied.recipe.evidence
    times = evidence.high if evidence and evidence.high < inf else (evidence.ratio if evidence else 1.0)
    walls_s = [
        job.end.wall_s * (times if job.side is Side.RECIPE else 1.0)
        for job in ledger.jobs
        if job.end is not None and job.end.status == 0
    ]
    return max(walls_s, default=None)


def time_left_s(host: Host) -> float | None:
    """Return the seconds until the scheduler ends this job: infinite outside of a job, None if unknown."""
    scheduler = batch_scheduler_here(host)
    own_job = scheduler.own_job(host.environ) if scheduler else ""
    return scheduler.time_left_s(host, own_job) if scheduler and own_job else inf
