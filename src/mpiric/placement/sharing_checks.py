"""Findings on hardware threads that several ranks, several jobs or too many threads share."""

from collections.abc import Sequence

from mpiric.model.amount import counted
from mpiric.model.finding import Finding
from mpiric.model.placement import ProcessSeen
from mpiric.model.pu_set import pu_list
from mpiric.placement.node import Node, ranks_text, reach, thread_count

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
_BY_WIDTH = (
    "map ranks by the width of their binding: mpiexec -bind-to core:T -map-by core:T, "
    "mpirun --map-by slot:pe=T --bind-to core"
)


def too_small(node: Node, processes: Sequence[ProcessSeen]) -> Finding | None:
    """Find a job with more computing threads than cores or CPU time."""
    threads = sum(map(thread_count, processes))
    widest = max(map(thread_count, processes), default=1)
    granted = {pu for process in processes for pu in (process.cgroup_cpus or node.usable)} & set(node.usable)
    cores, all_cores = len(node.cores(granted)), len(node.topology.cores)
    if node.quota and node.quota < min(threads, cores):
        return Finding(
            "cgroup-too-small",
            f"The control group grants {node.quota:g} CPUs of time to {counted(threads, 'thread')}.",
            "cpu.max of the control group",
            _MORE_CORES.format(counted(threads, "CPU"), widest),
        )
    if threads <= cores or cores == 0:
        return None
    limit = f" of {all_cores}: control group or affinity allow no more." if cores < all_cores else "."
    return Finding(
        "cgroup-too-small" if cores < all_cores else "oversubscribed",
        f"{counted(threads, 'thread')} share {counted(cores, 'core')}{limit}",
        f"{ranks_text(processes)}; usable hardware threads {pu_list(granted)}",
        _MORE_CORES.format(counted(threads, "core"), widest),
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
    return Finding(
        "ranks-overlap",
        "Several ranks are bound to the same cores.",
        f"{ranks_text(p for p in processes if p.pid in clashing)} on hardware threads {pu_list(shared)}",
        fix,
    )
