"""Sentences on the jobs of a submission."""

from collections.abc import Mapping, Sequence

from mpiric.model.allocation import BatchJob, Stage
from mpiric.schedulers import BatchScheduler
from mpiric.workflows.submit.array_rounds import ArrayRound


def state_of(job: BatchJob) -> str:
    """Return where a job runs, or why it does not run yet."""
    if job.stage is Stage.RUNNING:
        again = f", for the {job.restarts + 1}. time" if job.restarts else ""
        return f"job {job.job} runs on {_names(job.hosts)}{again}"
    if job.stage is Stage.ENDING:
        return f"job {job.job} is being ended: its processes are given some time"
    why = f" ({job.reason})" if job.reason else ""
    return f"job {job.job} is {job.stage.value}{why}"


def _names(hosts: Sequence[str]) -> str:
    return ", ".join(hosts) if len(hosts) <= 4 else f"{hosts[0]} … {hosts[-1]} ({len(hosts)} hosts)"


def ending(job: BatchJob) -> str:
    """Return how a job ended, as its scheduler reports it."""
    if job.stage is Stage.FORGOTTEN:
        return "not known to the scheduler any more"
    return f"{job.state} {job.reason}".strip()


def array_progress(
    array_round: ArrayRound,
    scheduler: BatchScheduler,
    job_ids: Sequence[str],
    states_of_jobs: Mapping[str, BatchJob],
) -> str:
    """Return the progress of the elements of an array; the job after it only waits."""
    array = array_round.array
    elements = scheduler.elements(array, array_round.size) if array else ()
    states = [states_of_jobs[job] for job in elements if job in states_of_jobs]
    if not states or not set(elements) & set(job_ids):
        return f"jobs {', '.join(job_ids)} are waited for"
    over = sum(state.is_over for state in states)
    running = sum(state.stage is Stage.RUNNING for state in states)
    return f"array {array}: {over} of {len(elements)} jobs have ended, {running} run"
