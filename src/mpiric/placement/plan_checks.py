"""Findings on a running job that differs from its plan."""

from collections.abc import Sequence

from mpiric.model.finding import Finding
from mpiric.model.placement import Plan, ProcessSeen
from mpiric.model.pu_set import pu_list
from mpiric.placement.node import Node, counted, ranks_text, reach, thread_count, workers


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
