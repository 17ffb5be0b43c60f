"""Findings on the placement of a running job: a pure function of its processes, the machine and a plan."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from mpiric.model.amount import counted
from mpiric.model.errors import Finding
from mpiric.model.machine import pu_list
from mpiric.model.placement import Plan, ProcessSeen
from mpiric.placement.checks import (
    Node,
    far_memory,
    first_touch,
    other_jobs,
    ranks_text,
    reach,
    same_cores,
    shared_gpu,
    thread_count,
    too_small,
    workers,
)


def not_as_planned(processes: Sequence[ProcessSeen], plan: Plan | None) -> Finding | None:
    """Find ranks, or threads of ranks, that may run on other hardware threads than the plan says."""
    wrong = [process for process in processes if plan is not None and not _agrees(process, plan)]
    if not wrong or plan is None:
        return None
    first = wrong[0]
    seat = plan.seats[(first.rank or 0) % plan.ranks_per_node]
    return Finding(
        "not-as-planned",
        "Ranks are not bound as planned.",
        f"{ranks_text(wrong)}; {ranks_text([first])} may run on {pu_list(reach(first))}, "
        f"but the plan is {pu_list(seat.pus)}",
        "launch with the options that `mpiric place --ranks N --threads T --launcher NAME` prints",
    )


def _agrees(process: ProcessSeen, plan: Plan) -> bool:
    """Return whether the threads of a rank together reach the planned set, and each stays inside."""
    if process.rank is None:
        return True
    seat = plan.seats[process.rank % plan.ranks_per_node]
    masks = [set(thread.cpus_allowed) for thread in workers(process)]
    if len(masks) > 1 and plan.threads > 1 and all(mask != set(seat.pus) for mask in masks):
        planned = [set(thread) for thread in seat.threads]
        return all(any(mask <= pus for pus in planned) for mask in masks)
    return set(reach(process)) == set(seat.pus)


def idle_cores(node: Node, processes: Sequence[ProcessSeen], plan: Plan | None) -> Finding | None:
    """Find cores that no thread reaches, although other cores have several threads or the plan uses them."""
    reached = node.cores({pu for process in processes for pu in reach(process)})
    expected = node.cores({pu for s in plan.seats for pu in s.pus} if plan else node.usable)
    idle = expected - reached
    threads = sum(map(thread_count, processes))
    if not idle or (plan is None and threads <= len(reached)):
        return None
    return Finding(
        "idle-cores",
        f"{counted(len(idle), 'core')} idle, while {counted(threads, 'thread')} share {len(reached)}.",
        f"no thread of the job may run on core {pu_list(idle)}",
        "give each rank as many cores as it has threads, or start more: mpiric place --ranks N --threads T",
    )


def stacked_in_mask(node: Node, processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find ranks whose masks have too few cores for their threads, while the node has enough cores."""

    def is_stacked(process: ProcessSeen) -> bool:
        narrow = all(thread.cpus_allowed == reach(process) for thread in workers(process))
        return narrow and node.binds(process) and thread_count(process) > len(node.cores(reach(process)))

    stacked = [process for process in processes if is_stacked(process)]
    if not stacked or len(node.cores(node.usable)) < sum(map(thread_count, processes)):
        return None
    first = stacked[0]
    width, cores = thread_count(first), len(node.cores(reach(first)))
    return Finding(
        "threads-stacked",
        f"{counted(width, 'thread')} of a rank share {counted(cores, 'core')}, while other cores are free.",
        f"{ranks_text(stacked)}; {ranks_text([first])} may run on hardware threads {pu_list(reach(first))}",
        f"bind each rank to {width} cores: mpirun --map-by slot:pe={width} --bind-to core, "
        f"mpiexec -bind-to core:{width} -map-by core:{width}, srun --cpus-per-task={width}; "
        "and remove OMP_PLACES or GOMP_CPU_AFFINITY if it names a single core",
    )


def stacked_on_core(node: Node, processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find threads of a rank that are bound to the same core although the rank has more cores."""

    def is_stacked(process: ProcessSeen) -> bool:
        pinned = [cores for t in workers(process) if len(cores := frozenset(node.cores(t.cpus_allowed))) == 1]
        return len(pinned) > len(set(pinned)) and len(node.cores(reach(process))) > 1

    stacked = [process for process in processes if is_stacked(process)]
    if not stacked or len(node.cores(node.usable)) < sum(map(thread_count, processes)):
        return None
    places = f"; it was started with places {stacked[0].places!r}" if stacked[0].places else ""
    return Finding(
        "threads-on-one-core",
        "Several threads of a rank are bound to the same core.",
        f"{ranks_text(stacked)}{places}",
        "set OMP_PLACES=cores OMP_PROC_BIND=close; numbers of cores would be the same for all ranks",
    )


def unbound(node: Node, processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find ranks that may run everywhere next to other ranks; not if there are more ranks than PUs."""
    usable = set(node.usable)
    free = [
        process
        for process in processes
        if not node.binds(process) and any(set(t.cpus_allowed) >= usable for t in workers(process))
    ]
    if not free or not 2 <= len(processes) <= len(usable):
        return None
    return Finding(
        "unbound-ranks",
        "Ranks are not bound: the kernel moves them between cores and away from their memory.",
        f"{ranks_text(free)} may run on all of {pu_list(node.usable)}",
        "mpirun --bind-to core (instead of none), mpiexec -bind-to core, srun --cpu-bind=cores, I_MPI_PIN=1",
    )


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
        lambda: shared_gpu(node, members, other_processes),
        lambda: stacked_in_mask(node, members),
        lambda: stacked_on_core(node, members),
        lambda: unbound(node, members),
        lambda: not_as_planned(members, plan),
        lambda: idle_cores(node, members, plan),
        lambda: far_memory(node, members),
        lambda: first_touch(node, members),
    )
    return (finding for check in checks if (finding := check()) is not None)
