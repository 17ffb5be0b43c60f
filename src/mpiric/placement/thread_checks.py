"""Findings on threads of a rank that share too few cores, and on ranks that are not bound."""

from collections.abc import Sequence

from mpiric.model.finding import Finding
from mpiric.model.placement import ProcessSeen
from mpiric.model.pu_set import pu_list
from mpiric.placement.node import Node, counted, ranks_text, reach, thread_count, workers


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
