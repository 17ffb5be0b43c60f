"""Cores of a node that a plan may use: affinity, cores reserved for the system, kinds of cores."""

from dataclasses import replace

from mpiric.model.errors import MpiricError
from mpiric.model.machine import Core, CoreSet, Topology
from mpiric.model.placement import HardwareThreads, PlacementRequest


def select(
    topology: Topology, allowed: tuple[int, ...], request: PlacementRequest
) -> tuple[CoreSet, tuple[str, ...]]:
    """Return the usable cores, and notes on excluded ones. Raises MpiricError if none remains."""
    usable = set(allowed)
    reachable = (replace(core, pus=tuple(pu for pu in core.pus if pu in usable)) for core in topology.cores)
    cores = [core for core in reachable if core.pus]
    cores, system_notes = _without_system_cores(cores, request.leave_cores)
    cores, kind_notes = _of_kind(cores, request)
    if not cores:
        raise MpiricError(
            "no core remains to place ranks on", hint="use a smaller --leave-cores, or another --core-kind"
        )
    return CoreSet(topology, tuple(cores)), (*system_notes, *kind_notes)


def _without_system_cores(cores: list[Core], number: int) -> tuple[list[Core], tuple[str, ...]]:
    """Reserve the last core of the fullest NUMA node, repeatedly, so that the nodes stay equal."""
    reserved: list[Core] = []
    for _ in range(min(number, len(cores))):
        counts: dict[int, int] = {}
        for core in cores:
            counts[core.numa_node] = counts.get(core.numa_node, 0) + 1
        fullest = max(counts, key=lambda node: (counts[node], node))
        last = [core for core in cores if core.numa_node == fullest][-1]
        cores = [core for core in cores if core is not last]
        reserved.append(last)
    if not reserved:
        return cores, ()
    numbers = ", ".join(str(core.index) for core in sorted(reserved, key=lambda core: core.index))
    return cores, (f"reserved for the system: core {numbers}",)


def _of_kind(cores: list[Core], request: PlacementRequest) -> tuple[list[Core], tuple[str, ...]]:
    """Use only performance cores if they suffice, because the slowest core delays all others."""
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
            f"the {len(cores) - len(fast)} efficiency cores stay free, as they would slow down all others",
        )
    slow = [core for core in cores if core.kind != "performance"]
    used = {core.index for core in (*fast, *slow[: needed - room])}
    return [core for core in cores if core.index in used], ()
