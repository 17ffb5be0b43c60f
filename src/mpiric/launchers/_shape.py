"""Recognition of plans that the options of a launcher describe exactly."""

from collections.abc import Iterable

from mpiric.model.dataclass import dataclass
from mpiric.model.machine import CoreSet, Level
from mpiric.model.placement import Plan

LEVELS = (None, Level.SOCKET, Level.NUMA, Level.CACHE)


@dataclass(frozen=True)
class Filled:
    """Regular placement: ``ranks`` ranks of ``width`` full cores in each domain, from its first core on."""

    level: Level | None  # None: the node is one domain
    ranks: int
    width: int


def fillings(plan: Plan, levels: Iterable[Level | None] = LEVELS) -> tuple[Filled, ...]:
    """Return the levels whose regular placement equals the plan; empty for an irregular plan.

    Only full cores count, and only if all cores are usable, because launchers count domains and cores
    themselves.
    """
    topology = plan.topology
    if set(plan.usable) != set(topology.pus) or any(
        set(seat.pus) != {pu for core in seat.cores for pu in core.pus} for seat in plan.seats
    ):
        return ()
    width = len(plan.seats[0].cores)
    if plan.threads != width:
        return ()
    node = CoreSet(topology, topology.cores)
    shapes = []
    for level in levels:
        domains = node.domains(level) if level else (node,)
        per_domain, remainder = divmod(plan.ranks_per_node, len(domains))
        if remainder or any(per_domain * width > len(domain.cores) for domain in domains):
            continue
        expected = [cores for domain in domains for cores in domain.packed(per_domain, width)]
        if expected == [seat.cores for seat in plan.seats]:
            shapes.append(Filled(level, per_domain, width))
    return tuple(shapes)


def whole_cores(plan: Plan) -> bool:
    """Return whether each rank has full cores, so that a list of cores is complete."""
    return all(set(seat.pus) == {pu for core in seat.cores for pu in core.pus} for seat in plan.seats)


def logical_pus(plan: Plan) -> dict[int, int]:
    """Map the OS index of each hardware thread to hwloc's logical index."""
    in_order = [pu for core in plan.topology.cores for pu in core.pus]
    return {pu: number for number, pu in enumerate(in_order)}
