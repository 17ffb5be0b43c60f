"""The inside of a node by its topology: NUMA nodes and sockets of its cores."""

from mpiric.model.machine import Topology
from mpiric.model.machine_slots import MachineSpec


def node_shape(topology: Topology) -> MachineSpec:
    """A slot for each core, and the levels inside the node, innermost first, that divide its cores."""
    cores = sorted(topology.cores, key=lambda core: (core.package, core.numa_node, core.index))
    levels = (
        ("numa", tuple(core.numa_node for core in cores)),
        ("socket", tuple(core.package for core in cores)),
    )
    found: list[tuple[str, tuple[int, ...]]] = []
    for name, groups in levels:
        if len(set(groups)) > 1 and all(groups != other for _, other in found):
            found.append((name, groups))
    return MachineSpec(slots=(len(cores),), inside=tuple(found))
