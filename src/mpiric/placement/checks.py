"""Checks of running ranks against their node: memory far from its threads, and shared hardware threads."""

from collections.abc import Collection, Iterable, Sequence

from mpiric.model.amount import counted, share
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.machine import Topology, pu_list
from mpiric.model.placement import OPENMP_BINDING, ProcessSeen, ThreadSeen

_BUSY = 0.2  # share of the busiest thread's CPU time; threads below it are helpers (progress, signals)
_STARTED_S = 0.05  # CPU time from which the computing threads can be recognised
_MANY_STARTED_S = 0.2  # CPU time of all threads: each of many on a few CPUs gets little


@dataclass(frozen=True)
class Node:
    """The properties of a machine that the checks use."""

    topology: Topology
    usable: tuple[int, ...]
    quota: float = 0.0  # CPU time per second that the control group grants, 0 if unlimited
    gpus: int = 0

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
    total_s = sum(thread.cpu_s for thread in process.threads)
    if largest_s <= _STARTED_S and total_s <= _MANY_STARTED_S:
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
        f"{ranks_text(affected)}; {share(shares[affected[0].pid])} of the memory of "
        f"{ranks_text(affected[:1])}",
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


_MORE_CORES = (
    "request {} on each node: srun and #SBATCH --cpus-per-task={} (the number is per rank), docker --cpus; "
    "or start fewer ranks or threads"
)
_INHERITED = (
    "the launcher inherited the mask of one task (mpirun within srun or taskset): start it outside of that, "
    "or with `srun --cpu-bind=none`, or use `srun --cpu-bind=cores` for the ranks themselves"
)
_BY_LIST = (
    "the launch command binds the ranks: list other CPUs for each rank in {}, or let the launcher choose: "
    "srun --cpu-bind=cores, mpiexec -bind-to core, mpirun --bind-to core"
)
_BY_VARIABLE = (
    "unset {names}, or let the launcher bind each rank first: mpirun --map-by slot:pe=T --bind-to core, "
    "mpiexec -bind-to core:T, srun --cpu-bind=cores; numbers of CPUs in a variable are the same for all ranks"
)
_BY_WIDTH = (
    "map ranks by the width of their binding: mpiexec -bind-to core:T -map-by core:T, "
    "mpirun --map-by slot:pe=T --bind-to core"
)


def _fitting(processes: Sequence[ProcessSeen], cpus: float) -> tuple[str, str]:
    """Return the evidence and the cure if a library starts more threads than there are CPUs, else ""."""
    pool = next((p.unlimited_pool for p in processes if thread_count(p) > 1 and p.unlimited_pool), None)
    if pool is None or len(processes) > cpus:
        return "", ""
    count = max(1, int(cpus) // len(processes))
    evidence = f"; {pool.library} starts a thread for each CPU in each rank: {pool.variable} is not set"
    return evidence, f"{pool.variable}={count}; or "


def too_small(node: Node, processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find a job with more computing threads than cores or CPU time."""
    threads = sum(map(thread_count, processes))
    widest = max(map(thread_count, processes), default=1)
    granted = {pu for process in processes for pu in (process.cgroup_cpus or node.usable)} & set(node.usable)
    cores, all_cores = len(node.cores(granted)), len(node.topology.cores)
    evidence, cure = _fitting(processes, min(cores, node.quota or cores))
    if node.quota and node.quota < min(threads, cores):
        return Finding(
            "cgroup-too-small",
            f"The control group grants {node.quota:g} CPUs of time to {counted(threads, 'thread')}.",
            f"cpu.max of the control group{evidence}",
            cure + _MORE_CORES.format(counted(threads, "CPU"), widest),
        )
    if threads <= cores or cores == 0:
        return None
    limit = f" of {all_cores}: control group or affinity allow no more." if cores < all_cores else "."
    return Finding(
        "cgroup-too-small" if cores < all_cores else "oversubscribed",
        f"{counted(threads, 'thread')} share {counted(cores, 'core')}{limit}",
        f"{ranks_text(processes)}; usable hardware threads {pu_list(granted)}{evidence}",
        cure + _MORE_CORES.format(counted(threads, "core"), widest),
    )


def other_jobs(
    node: Node, processes: Sequence[ProcessSeen], other_processes: Sequence[ProcessSeen]
) -> Finding | None:
    """Find another launch that is bound to the same hardware threads."""
    mine = {pu for process in processes if node.binds(process) for pu in reach(process)}
    clashing = [
        process for process in other_processes if node.binds(process) and mine.intersection(reach(process))
    ]
    if not clashing:
        return None
    shared = mine & {pu for process in clashing for pu in reach(process)}
    first = clashing[0]
    return Finding(
        "jobs-overlap",
        "Two jobs are bound to the same hardware threads.",
        f"hardware threads {pu_list(shared)}, also of {first.job} ({first.program.rsplit('/', 1)[-1]})",
        "give each job its own cores: mpirun --cpu-set, mpiexec -bind-to user:…, one srun step per job",
    )


def same_cores(node: Node, processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find ranks of one job whose masks overlap so much that they must share a core."""
    bound = [process for process in processes if node.binds(process)]
    clashing, shared = set[int](), set[int]()
    for number, process in enumerate(bound):
        for other in bound[number + 1 :]:
            common = set(reach(process)) & set(reach(other))
            room = len(node.cores({*reach(process), *reach(other)}))
            if common and room < thread_count(process) + thread_count(other):
                clashing |= {process.pid, other.pid}
                shared |= common
    if not clashing:
        return None
    fix = _INHERITED if len({reach(process) for process in bound}) == 1 else _BY_WIDTH
    first = next(process for process in processes if process.pid in clashing)
    bound_by_launch = bool(first.parent_cpus) and not set(first.parent_cpus) <= set(reach(first))
    if first.cpu_list or (bound_by_launch and fix is _INHERITED):
        fix = _BY_LIST.format(f"--cpu-bind={first.cpu_list}" if first.cpu_list else "its list or rank file")
    inherited = bool(first.parent_cpus) and not bound_by_launch
    by_variable = bool(first.bound_by) and not (first.cpu_list or inherited)
    if by_variable:
        fix = _BY_VARIABLE.format(
            names=" and ".join(name for name in OPENMP_BINDING if name in first.bound_by)
        )
    return Finding(
        "ranks-overlap",
        f"{first.bound_by} binds several ranks to the same cores."
        if by_variable
        else "Several ranks are bound to the same cores.",
        f"{ranks_text(p for p in processes if p.pid in clashing)} on hardware threads {pu_list(shared)}",
        fix,
    )


def shared_gpu(
    node: Node, processes: Sequence[ProcessSeen], other_processes: Sequence[ProcessSeen]
) -> Finding | None:
    """Find ranks that compute on the same GPU although the job has GPUs that no process computes on."""
    users: dict[str, list[ProcessSeen]] = {}
    for process in processes:
        for gpu in process.gpus:
            users.setdefault(gpu, []).append(process)
    allotted = max((process.gpus_allotted for process in processes), default=0)
    busy = len(users.keys() | ({gpu for p in other_processes for gpu in p.gpus} if not allotted else set()))
    gpu, sharing = max(users.items(), key=lambda item: len(item[1]), default=("", []))
    idle = (allotted or node.gpus) - busy
    if len(sharing) < 2 or idle < 1:
        return None
    return Finding(
        "gpu-shared",
        f"Ranks share a GPU while {counted(idle, 'GPU')} of the node {'is' if idle == 1 else 'are'} idle.",
        f"{ranks_text(sharing)} compute on GPU {gpu}",
        "give each rank its GPU: srun --gpus-per-task=1, the script of `mpiric place --ranks N --write DIR`",
    )
