"""Memory that is not where the threads that use it are."""

from collections.abc import Sequence

from mpiric.model.finding import Finding
from mpiric.model.placement import ProcessSeen
from mpiric.placement.seen import Node, ranks_text, reach, workers

_FAR = 0.2  # of a rank's memory
_CONCENTRATED = 0.9
_LITTLE = 16384  # 4 KiB pages, 64 MiB: less than that is mostly the MPI library's own


def far_memory(node: Node, own: Sequence[ProcessSeen]) -> Finding | None:
    """Memory on NUMA nodes with CPUs on none of which the rank runs."""
    with_cpus = {each.index for each in node.topology.numa_nodes if each.pus}
    shares: dict[int, float] = {}
    for process in own:
        near = node.numa_nodes(reach(process))
        total = sum(process.memory_pages.values())
        away = sum(pages for n, pages in process.memory_pages.items() if n in with_cpus - near)
        if total >= _LITTLE and away > _FAR * total:
            shares[process.pid] = away / total
    far = [process for process in own if process.pid in shares]
    if not far:
        return None
    return Finding(
        "far-memory",
        "Memory of ranks lies on NUMA nodes they do not run on.",
        f"{ranks_text(far)}; {shares[far[0].pid]:.0%} of the memory of {ranks_text(far[:1])}",
        "bind by the launcher, before memory is touched; srun --mem-bind=local, numactl --localalloc",
    )


def first_touch(node: Node, own: Sequence[ProcessSeen]) -> Finding | None:
    """All memory on one NUMA node although the rank's threads compute on several."""

    def is_concentrated(process: ProcessSeen) -> bool:
        total = sum(process.memory_pages.values())
        most = max(process.memory_pages.values(), default=0)
        wide = len(workers(process)) > 1 and len(node.numa_nodes(reach(process))) > 1
        return wide and total >= _LITTLE and most > _CONCENTRATED * total

    found = [process for process in own if is_concentrated(process)]
    if not found:
        return None
    return Finding(
        "first-touch",
        "One thread placed the memory that threads on several NUMA nodes use.",
        f"{ranks_text(found)}: over 90 % of it lies on one NUMA node",
        "one rank for each NUMA node (mpiric place --policy per-numa), initialise in parallel, or "
        "numactl --interleave=all",
    )
