"""A node and the ranks that run on it, as input of the checks."""

from collections.abc import Collection, Iterable

from mpiric.model.dataclass import dataclass
from mpiric.model.machine import Topology
from mpiric.model.placement import ProcessSeen, ThreadSeen
from mpiric.model.pu_set import pu_list

_BUSY = 0.2  # share of the busiest thread's CPU time; threads below it are helpers (progress, signals)
_STARTED_S = 0.05  # CPU time from which the computing threads can be recognised


@dataclass(frozen=True)
class Node:
    """The properties of a machine that the checks use."""

    topology: Topology
    usable: tuple[int, ...]
    quota: float = 0.0  # CPU time per second that the control group grants, 0 if unlimited

    def cores(self, pus: Collection[int]) -> set[int]:
        """Return the indices of the cores with these hardware threads."""
        return {core.index for core in self.topology.cores if set(pus).intersection(core.pus)}

    def numa_nodes(self, pus: Collection[int]) -> set[int]:
        """Return the NUMA nodes with these hardware threads."""
        return {node.index for node in self.topology.numa_nodes if set(pus).intersection(node.pus)}

    def binds(self, process: ProcessSeen) -> bool:
        """Return whether a rank is restricted to a part of the usable hardware threads."""
        return len(self.usable) > 1 and not set(reach(process)) >= set(self.usable)


def workers(process: ProcessSeen) -> tuple[ThreadSeen, ...]:
    """Return the threads that compute; the first OMP_NUM_THREADS ones if none has computed yet."""
    largest_s = max((thread.cpu_s for thread in process.threads), default=0.0)
    if largest_s <= _STARTED_S:
        return process.threads[: max(1, process.omp_threads)]
    return tuple(thread for thread in process.threads if thread.cpu_s >= _BUSY * largest_s)


def reach(process: ProcessSeen) -> tuple[int, ...]:
    """Return the hardware threads of the computing threads; OpenMP narrows the mask of each of them."""
    return tuple(sorted({pu for thread in workers(process) for pu in thread.cpus_allowed}))


def thread_count(process: ProcessSeen) -> int:
    """Return the number of threads with which a rank computes."""
    return max(len(workers(process)), 1)


def ranks_text(processes: Iterable[ProcessSeen]) -> str:
    """Return ``ranks 0-3``, or the pids of processes that are not ranks."""
    every = tuple(processes)
    numbers = {process.rank for process in every if process.rank is not None}
    if not numbers:
        return ", ".join(f"process {process.pid}" for process in every)
    return f"rank{'s' if len(numbers) > 1 else ''} {pu_list(numbers)}"
