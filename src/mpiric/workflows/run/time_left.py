"""Whether a job is too near its time limit to run other than with its recipe."""

from math import inf

from mpiric.host.host import Host
from mpiric.schedulers import batch_scheduler_here
from mpiric.tuning.explore.ledger import Ledger, Side
from mpiric.workflows.run.run import AppliedRecipe

_ROOM = 1.25  # times the longest run so far that must be left


def near_its_limit(ledger: Ledger, applied: AppliedRecipe, host: Host) -> str:
    """Why a run as it is might not fit into what is left of this job, "" where it does.

    While no whole run is known, one with the recipe tells first how long the program takes.
    """
    left_s = time_left_s(host)
    if left_s == inf:
        return ""
    if left_s is None:
        return "the scheduler does not tell how much time is left"
    needed_s = original_s(ledger, applied)
    if needed_s is None:
        return "how long a whole run takes is not known yet, and this job has a time limit"
    if needed_s * _ROOM > left_s:
        return f"a run as it is takes about {needed_s:.0f} s, and the job ends in {left_s:.0f} s"
    return ""


def original_s(ledger: Ledger, applied: AppliedRecipe) -> float | None:
    """The longest that a run as it is may take, by the jobs so far; None before there was one."""
    evidence = applied.recipe.evidence
    times = evidence.high if evidence and evidence.high < inf else (evidence.ratio if evidence else 1.0)
    known = [
        job.end.wall_s * (times if job.side is Side.RECIPE else 1.0)
        for job in ledger.jobs
        if job.end is not None and job.end.status == 0
    ]
    return max(known, default=None)


def time_left_s(host: Host) -> float | None:
    """Seconds until the scheduler ends this job: infinite outside of one, None where it does not tell."""
    scheduler = batch_scheduler_here(host)
    own_job = scheduler.own_job(host.environ) if scheduler else ""
    return scheduler.time_left_s(host, own_job) if scheduler and own_job else inf
