"""A running job against its plan."""

from collections.abc import Sequence

from mpiric.model.finding import Finding
from mpiric.model.placement import Plan, ProcessSeen
from mpiric.model.pu_set import pu_list
from mpiric.placement.node import Node, counted, ranks_text, reach, thread_count, workers


def not_as_planned(own: Sequence[ProcessSeen], plan: Plan | None) -> Finding | None:
    """A rank, or one of its threads, that may run where the plan does not have it."""
    wrong = [process for process in own if plan is not None and not _agrees(process, plan)]
    if not wrong or plan is None:
        return None
    first = wrong[0]
    seat = plan.seats[(first.rank or 0) % plan.ranks_per_node]
    return Finding(
        "not-as-planned",
        "Ranks do not sit where the plan has them.",
        f"{ranks_text(wrong)}; {ranks_text([first])} may run on {pu_list(reach(first))}, "
        f"planned is {pu_list(seat.pus)}",
        "launch with the words of `mpiric place --ranks N --threads T --launcher NAME`",
    )


def _agrees(process: ProcessSeen, plan: Plan) -> bool:
    """Whether a rank's threads together reach what is planned for it, and each stays inside."""
    if process.rank is None:
        return True
    seat = plan.seats[process.rank % plan.ranks_per_node]
    each = [set(thread.cpus_allowed) for thread in workers(process)]
    if len(each) > 1 and plan.threads > 1 and all(mask != set(seat.pus) for mask in each):
        planned = [set(thread) for thread in seat.threads]
        return all(any(mask <= pus for pus in planned) for mask in each)
    return set(reach(process)) == set(seat.pus)


def idle_cores(node: Node, own: Sequence[ProcessSeen], plan: Plan | None) -> Finding | None:
    """Cores that no thread reaches, although others carry several or the plan uses them."""
    reached = node.cores({pu for process in own for pu in reach(process)})
    meant = node.cores({pu for s in plan.seats for pu in s.pus} if plan else node.usable)
    idle = meant - reached
    threads = sum(map(thread_count, own))
    if not idle or (plan is None and threads <= len(reached)):
        return None
    return Finding(
        "idle-cores",
        f"{counted(len(idle), 'core')} idle, while {counted(threads, 'thread')} share {len(reached)}.",
        f"core {pu_list(idle)} is reached by no thread of the job",
        "give each rank as many cores as it has threads, or start more: mpiric place --ranks N --threads T",
    )
