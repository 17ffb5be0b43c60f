"""Memory that is not where the threads that use it are."""

from collections.abc import Sequence

from mpiric.model.finding import Finding
from mpiric.model.placement import ProcessSeen
from mpiric.placement.node import Node, ranks_text, reach, workers

_FAR = 0.2  # of a rank's memory
_CONCENTRATED = 0.9
_OWN_HAND = 0.5  # of the rank's pages
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
        most = max(process.memory_pages.values(), default=0)
        return len(node.numa_nodes(reach(process))) > 1 and most > _CONCENTRATED * _pages(process)

    found = [process for process in own if _shares_memory(process) and is_concentrated(process)]
    return _placed_by_one(found, "over 90 % of it lies on one NUMA node") if found else None


def touched_by_one(own: Sequence[ProcessSeen]) -> Finding | None:
    """One thread has touched the rank's pages first: harmless on one NUMA node, slow on several.

    By the page faults of each thread, so it shows before the program is on a larger machine.
    """

    def is_serial(process: ProcessSeen) -> bool:
        faults = [thread.minor_faults for thread in process.threads]
        return max(faults) > _CONCENTRATED * sum(faults) and max(faults) > _OWN_HAND * _pages(process)

    found = [process for process in own if _shares_memory(process) and is_serial(process)]
    return _placed_by_one(found, "over 90 % of the page faults were one thread's") if found else None


def _pages(process: ProcessSeen) -> int:
    return sum(process.memory_pages.values())


def _shares_memory(process: ProcessSeen) -> bool:
    return len(workers(process)) > 1 and _pages(process) >= _LITTLE


def _placed_by_one(found: Sequence[ProcessSeen], evidence: str) -> Finding:
    return Finding(
        "first-touch",
        "One thread placed the memory that all threads use: it lies on that thread's NUMA node.",
        f"{ranks_text(found)}: {evidence}",
        "one rank for each NUMA node (mpiric place --policy per-numa), initialise in parallel, or "
        "numactl --interleave=all",
    )
