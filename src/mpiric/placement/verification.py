"""Findings on the placement of a running job: a pure function of its processes, the machine and a plan."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from mpiric.model.finding import Finding
from mpiric.model.placement import Plan, ProcessSeen
from mpiric.placement.memory_checks import far_memory, first_touch
from mpiric.placement.node import Node
from mpiric.placement.plan_checks import idle_cores, not_as_planned
from mpiric.placement.sharing_checks import other_jobs, same_cores, too_small
from mpiric.placement.thread_checks import stacked_in_mask, stacked_on_core, unbound

__all__ = ["Node", "judge"]


def judge(
    node: Node, processes: Sequence[ProcessSeen], plan: Plan | None = None, pids: Collection[int] = ()
) -> tuple[Finding, ...]:
    """Return problems of the jobs of ``pids`` (default: the job of the first process), most harmful first.

    If there are several jobs, the evidence begins with the name of the job.
    """
    selected = set(pids) or {p.pid for p in processes if p.job == processes[0].job}
    jobs = {process.job: None for process in processes if process.pid in selected}
    return tuple(
        replace(finding, evidence=f"{job}: {finding.evidence}") if len(jobs) > 1 else finding
        for job in jobs
        for finding in _judge_job(node, processes, job, plan)
    )


def _judge_job(
    node: Node, processes: Sequence[ProcessSeen], job: str, plan: Plan | None
) -> Iterable[Finding]:
    members = tuple(process for process in processes if process.job == job)
    other_processes = tuple(process for process in processes if process.job != job)
    checks: Iterable[Callable[[], Finding | None]] = (
        lambda: too_small(node, members),
        lambda: other_jobs(node, members, other_processes),
        lambda: same_cores(node, members),
        lambda: stacked_in_mask(node, members),
        lambda: stacked_on_core(node, members),
        lambda: unbound(node, members),
        lambda: not_as_planned(members, plan),
        lambda: idle_cores(node, members, plan),
        lambda: far_memory(node, members),
        lambda: first_touch(node, members),
    )
    return (finding for check in checks if (finding := check()) is not None)
