"""Sentences on the jobs of a submission."""

from collections.abc import Sequence

from mpiric.model.allocation import BatchJob, Stage


def state_of(job: BatchJob) -> str:
    """Where a job runs, or why it does not yet."""
    if job.stage is Stage.RUNNING:
        again = f", for the {job.restarts + 1}. time" if job.restarts else ""
        return f"job {job.job} runs on {_names(job.hosts)}{again}"
    why = f" ({job.reason})" if job.reason else ""
    return f"job {job.job} is {job.stage.value}{why}"


def _names(hosts: Sequence[str]) -> str:
    return ", ".join(hosts) if len(hosts) <= 4 else f"{hosts[0]} … {hosts[-1]} ({len(hosts)} hosts)"


def ending(job: BatchJob) -> str:
    """How a job ended, as its scheduler reports it."""
    if job.stage is Stage.FORGOTTEN:
        return "not known to the scheduler any more"
    return f"{job.state} {job.reason}".strip()
