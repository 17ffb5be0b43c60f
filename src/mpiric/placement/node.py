"""A node and the ranks that run on it, as the checks look at them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from mpiric.model.machine import Topology
from mpiric.model.placement import ProcessSeen, ThreadSeen
from mpiric.model.pu_set import pu_list

_BUSY = 0.2  # of the CPU time of the busiest thread: below that it is a helper (progress, signals)
_STARTED_S = 0.05  # CPU time by which it shows who works


@dataclass(frozen=True)
class Node:
    """The machine as far as judging needs it."""

    topology: Topology
    usable: tuple[int, ...]
    quota: float = 0.0  # CPUs' worth of time that the control group grants, 0 when unlimited

    def cores(self, pus: Collection[int]) -> set[int]:
        """Indices of the cores these hardware threads belong to."""
        return {core.index for core in self.topology.cores if set(pus).intersection(core.pus)}

    def numa_nodes(self, pus: Collection[int]) -> set[int]:
        """NUMA nodes these hardware threads belong to."""
        return {each.index for each in self.topology.numa_nodes if set(pus).intersection(each.pus)}

    def binds(self, process: ProcessSeen) -> bool:
        """Whether a rank may not run everywhere."""
        return len(self.usable) > 1 and not set(reach(process)) >= set(self.usable)


def workers(process: ProcessSeen) -> tuple[ThreadSeen, ...]:
    """Threads that compute; as many as OMP_NUM_THREADS promises when none has computed yet."""
    most = max((thread.cpu_s for thread in process.threads), default=0.0)
    if most <= _STARTED_S:
        return process.threads[: max(1, process.omp_threads)]
    return tuple(thread for thread in process.threads if thread.cpu_s >= _BUSY * most)


def reach(process: ProcessSeen) -> tuple[int, ...]:
    """Where the rank's computing threads may run: OpenMP narrows the mask of each, the main one's too."""
    return tuple(sorted({pu for thread in workers(process) for pu in thread.cpus_allowed}))


def thread_count(process: ProcessSeen) -> int:
    """Threads a rank computes with."""
    return max(len(workers(process)), 1)


def ranks_text(processes: Iterable[ProcessSeen]) -> str:
    """``ranks 0-3``, or the pids of what is no rank."""
    every = tuple(processes)
    numbers = {process.rank for process in every if process.rank is not None}
    if not numbers:
        return ", ".join(f"process {process.pid}" for process in every)
    return f"rank{'s' if len(numbers) > 1 else ''} {pu_list(numbers)}"


def counted(number: int, word: str) -> str:
    """``1 core``, ``2 cores``."""
    return f"{number} {word}{'' if number == 1 else 's'}"
