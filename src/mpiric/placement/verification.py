"""What is wrong with where a running job sits: a pure function of what was seen, the machine and a plan."""

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
    """Problems, the most harmful first, of every job among ``pids`` (of the first process's job when empty).

    Of several jobs the evidence begins with the job's name.
    """
    wanted = set(pids) or {p.pid for p in processes if p.job == processes[0].job}
    jobs = {process.job: None for process in processes if process.pid in wanted}
    return tuple(
        replace(finding, evidence=f"{job}: {finding.evidence}") if len(jobs) > 1 else finding
        for job in jobs
        for finding in _judge_job(node, processes, job, plan)
    )


def _judge_job(
    node: Node, processes: Sequence[ProcessSeen], job: str, plan: Plan | None
) -> Iterable[Finding]:
    own = tuple(process for process in processes if process.job == job)
    others = tuple(process for process in processes if process.job != job)
    checks: Iterable[Callable[[], Finding | None]] = (
        lambda: too_small(node, own),
        lambda: other_jobs(node, own, others),
        lambda: same_cores(node, own),
        lambda: stacked_in_mask(node, own),
        lambda: stacked_on_core(node, own),
        lambda: unbound(node, own),
        lambda: not_as_planned(own, plan),
        lambda: idle_cores(node, own, plan),
        lambda: far_memory(node, own),
        lambda: first_touch(node, own),
    )
    return (finding for check in checks if (finding := check()) is not None)
