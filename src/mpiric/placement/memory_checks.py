"""Findings on memory that is far from the threads that use it."""

from collections.abc import Sequence

from mpiric.model.finding import Finding
from mpiric.model.placement import ProcessSeen
from mpiric.placement.node import Node, ranks_text, reach, workers

_FAR_SHARE = 0.2  # share of a rank's memory on other NUMA nodes that is worth a finding
_CONCENTRATED = 0.9  # share of memory or page faults that counts as concentrated on one node or thread
_TOUCHED_SHARE = 0.5  # share of the rank's pages that one thread must have touched
_MIN_PAGES = 16384  # 4 KiB pages, 64 MiB: smaller memories mostly belong to the MPI library


def far_memory(node: Node, processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find ranks whose memory is on NUMA nodes with CPUs where the rank does not run."""
    with_cpus = {numa.index for numa in node.topology.numa_nodes if numa.pus}
    shares: dict[int, float] = {}
    for process in processes:
        near = node.numa_nodes(reach(process))
        total = sum(process.memory_pages.values())
        away = sum(pages for n, pages in process.memory_pages.items() if n in with_cpus - near)
        if total >= _MIN_PAGES and away > _FAR_SHARE * total:
            shares[process.pid] = away / total
    affected = [process for process in processes if process.pid in shares]
    if not affected:
        return None
    return Finding(
        "far-memory",
        "Memory of ranks is on NUMA nodes where they do not run.",
        f"{ranks_text(affected)}; {shares[affected[0].pid]:.0%} of the memory of {ranks_text(affected[:1])}",
        "bind ranks by the launcher before they touch memory; srun --mem-bind=local, numactl --localalloc",
    )


def first_touch(node: Node, processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find ranks with all memory on one NUMA node although their threads compute on several."""

    def is_concentrated(process: ProcessSeen) -> bool:
        largest = max(process.memory_pages.values(), default=0)
        return len(node.numa_nodes(reach(process))) > 1 and largest > _CONCENTRATED * _pages(process)

    concentrated = [process for process in processes if _shares_memory(process) and is_concentrated(process)]
    return _placed_by_one(concentrated, "over 90 % of it is on one NUMA node") if concentrated else None


def touched_by_one(processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find ranks whose pages were first touched by one thread: harmless on one NUMA node, slow on several.

    The page faults of each thread show it even before the program runs on a larger machine.
    """

    def is_serial(process: ProcessSeen) -> bool:
        faults = [thread.minor_faults for thread in process.threads]
        return max(faults) > _CONCENTRATED * sum(faults) and max(faults) > _TOUCHED_SHARE * _pages(process)

    serial = [process for process in processes if _shares_memory(process) and is_serial(process)]
    return _placed_by_one(serial, "one thread caused over 90 % of the page faults") if serial else None


def _pages(process: ProcessSeen) -> int:
    return sum(process.memory_pages.values())


def _shares_memory(process: ProcessSeen) -> bool:
    return len(workers(process)) > 1 and _pages(process) >= _MIN_PAGES


def _placed_by_one(processes: Sequence[ProcessSeen], evidence: str) -> Finding:
    return Finding(
        "first-touch",
        "One thread touched the memory of all threads first, so it is on the NUMA node of that thread.",
        f"{ranks_text(processes)}: {evidence}",
        "run one rank per NUMA node (mpiric place --policy per-numa), initialise in parallel, or use "
        "numactl --interleave=all",
    )
