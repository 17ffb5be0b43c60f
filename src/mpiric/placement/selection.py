"""Which cores of a node a plan may use at all: affinity, a share for the system, kinds of cores."""

from dataclasses import replace

from mpiric.model.core_set import CoreSet
from mpiric.model.errors import MpiricError
from mpiric.model.machine import Core, Topology
from mpiric.model.placement import HardwareThreads, PlacementRequest


def select(
    topology: Topology, allowed: tuple[int, ...], request: PlacementRequest
) -> tuple[CoreSet, tuple[str, ...]]:
    """The cores that may be used, and notes on those left out. Raises MpiricError when none is left."""
    usable = set(allowed)
    reachable = (replace(core, pus=tuple(pu for pu in core.pus if pu in usable)) for core in topology.cores)
    cores = [core for core in reachable if core.pus]
    cores, left = _without_system_cores(cores, request.leave_cores)
    cores, kinds = _of_kind(cores, request)
    if not cores:
        raise MpiricError(
            "no core is left to place ranks on", hint="a smaller --leave-cores, or another --core-kind"
        )
    return CoreSet(topology, tuple(cores)), (*left, *kinds)


def _without_system_cores(cores: list[Core], number: int) -> tuple[list[Core], tuple[str, ...]]:
    """The last core of the fullest NUMA node, again and again: NUMA nodes stay as equal as they can."""
    left: list[Core] = []
    for _ in range(min(number, len(cores))):
        counts: dict[int, int] = {}
        for core in cores:
            counts[core.numa_node] = counts.get(core.numa_node, 0) + 1
        fullest = max(counts, key=lambda node: (counts[node], node))
        last = [core for core in cores if core.numa_node == fullest][-1]
        cores = [core for core in cores if core is not last]
        left.append(last)
    if not left:
        return cores, ()
    words = ", ".join(str(core.index) for core in sorted(left, key=lambda core: core.index))
    return cores, (f"left to the system: core {words}",)


def _of_kind(cores: list[Core], request: PlacementRequest) -> tuple[list[Core], tuple[str, ...]]:
    """Performance cores alone while they suffice: the slowest core sets the pace of all."""
    kinds = {core.kind for core in cores}
    if len(kinds) < 2 or request.core_kind == "any":
        return cores, ()
    if request.core_kind:
        chosen = [core for core in cores if core.kind == request.core_kind]
        return chosen, (f"only {request.core_kind} cores are used",)
    fast = [core for core in cores if core.kind == "performance"]
    needed = -(-request.ranks // max(1, request.nodes)) * max(1, request.threads)
    room = (
        sum(len(core.pus) for core in fast) if request.hardware_threads is HardwareThreads.ALL else len(fast)
    )
    if needed <= room:
        return fast, (
            f"the {len(cores) - len(fast)} efficiency cores stay free: the slowest core sets the pace",
        )
    slow = [core for core in cores if core.kind != "performance"]
    kept = {core.index for core in (*fast, *slow[: needed - room])}
    return [core for core in cores if core.index in kept], ()
