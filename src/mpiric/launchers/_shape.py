"""Recognising a plan that a launcher's own words describe exactly."""

from collections.abc import Iterable
from dataclasses import dataclass

from mpiric.model.core_set import CoreSet, Level
from mpiric.model.placement import Plan

LEVELS = (None, Level.SOCKET, Level.NUMA, Level.CACHE)


@dataclass(frozen=True)
class Filled:
    """``ranks`` ranks of ``width`` whole cores in every domain, side by side from its first core."""

    level: Level | None  # None: the whole node is one domain
    ranks: int
    width: int


def fillings(plan: Plan, levels: Iterable[Level | None] = LEVELS) -> tuple[Filled, ...]:
    """Every level whose regular filling is this very plan; none for a plan that is not regular.

    Only whole cores count, and only where no core is withheld: launchers count domains and cores themselves.
    """
    topology = plan.topology
    if set(plan.usable) != set(topology.pus) or any(
        set(seat.pus) != {pu for core in seat.cores for pu in core.pus} for seat in plan.seats
    ):
        return ()
    width = len(plan.seats[0].cores)
    if plan.threads != width:
        return ()
    whole = CoreSet(topology, topology.cores)
    found = []
    for level in levels:
        domains = whole.domains(level) if level else (whole,)
        each, rest = divmod(plan.ranks_per_node, len(domains))
        if rest or any(each * width > len(domain.cores) for domain in domains):
            continue
        expected = [cores for domain in domains for cores in domain.packed(each, width)]
        if expected == [seat.cores for seat in plan.seats]:
            found.append(Filled(level, each, width))
    return tuple(found)


def whole_cores(plan: Plan) -> bool:
    """Whether every rank has whole cores, so that a list of cores is complete."""
    return all(set(seat.pus) == {pu for core in seat.cores for pu in core.pus} for seat in plan.seats)


def logical_pus(plan: Plan) -> dict[int, int]:
    """OS index → hwloc's logical index of every hardware thread."""
    in_order = [pu for core in plan.topology.cores for pu in core.pus]
    return {pu: number for number, pu in enumerate(in_order)}
