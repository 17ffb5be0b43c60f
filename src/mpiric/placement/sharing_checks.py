"""Hardware threads that several ranks, jobs or too many threads share."""

from collections.abc import Sequence

from mpiric.model.finding import Finding
from mpiric.model.placement import ProcessSeen
from mpiric.model.pu_set import pu_list
from mpiric.placement.node import Node, counted, ranks_text, reach, thread_count

_MORE_CORES = "ask for {} (srun -c, #SBATCH --cpus-per-task, docker --cpus), or start fewer ranks or threads"
_INHERITED = (
    "the launcher inherited the mask of one task (mpirun inside of srun, or under taskset): start it outside "
    "of that, or with `srun --cpu-bind=none`, or `srun --cpu-bind=cores` for the ranks themselves"
)
_BY_WIDTH = (
    "map ranks by the width they are bound with: mpiexec -bind-to core:T -map-by core:T, "
    "mpirun --map-by slot:pe=T --bind-to core"
)


def too_small(node: Node, own: Sequence[ProcessSeen]) -> Finding | None:
    """Find a job with more computing threads than the cores or CPU time it was given."""
    threads = sum(map(thread_count, own))
    granted = {pu for process in own for pu in (process.cgroup_cpus or node.usable)} & set(node.usable)
    cores, whole = len(node.cores(granted)), len(node.topology.cores)
    if node.quota and node.quota < min(threads, cores):
        return Finding(
            "cgroup-too-small",
            f"The control group grants {node.quota:g} CPUs' worth of time to {counted(threads, 'thread')}.",
            "cpu.max of the control group",
            _MORE_CORES.format(counted(threads, "CPU")),
        )
    if threads <= cores or cores == 0:
        return None
    limit = f" of the {whole} there are: control group or affinity allow no more." if cores < whole else "."
    return Finding(
        "cgroup-too-small" if cores < whole else "oversubscribed",
        f"{counted(threads, 'thread')} share {counted(cores, 'core')}{limit}",
        f"{ranks_text(own)}; usable hardware threads {pu_list(granted)}",
        _MORE_CORES.format(counted(threads, "core")),
    )


def other_jobs(node: Node, own: Sequence[ProcessSeen], others: Sequence[ProcessSeen]) -> Finding | None:
    """Another launch that is bound to the same hardware threads."""
    mine = {pu for process in own if node.binds(process) for pu in reach(process)}
    clashing = [process for process in others if node.binds(process) and mine.intersection(reach(process))]
    if not clashing:
        return None
    shared = mine & {pu for process in clashing for pu in reach(process)}
    first = clashing[0]
    return Finding(
        "jobs-overlap",
        "Two jobs are bound to the same hardware threads, each as if it were alone.",
        f"hardware threads {pu_list(shared)}, also of {first.job} ({first.program.rsplit('/', 1)[-1]})",
        "give each job cores of its own: mpirun --cpu-set, mpiexec -bind-to user:…, one srun step each",
    )


def same_cores(node: Node, own: Sequence[ProcessSeen]) -> Finding | None:
    """Ranks of one job whose masks overlap so much that they must share a core."""
    bound = [process for process in own if node.binds(process)]
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
    alike = len({reach(process) for process in bound}) == 1
    return Finding(
        "ranks-overlap",
        "Several ranks are bound to the same cores.",
        f"{ranks_text(p for p in own if p.pid in clashing)} on hardware threads {pu_list(shared)}",
        _INHERITED if alike else _BY_WIDTH,
    )
