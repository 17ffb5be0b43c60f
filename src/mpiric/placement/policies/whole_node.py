"""Whole node: all cores divided in equal parts, each within one NUMA node if possible.

For hybrid programs: 8 ranks on a node of 128 cores get 16 threads each. If the number of threads is not set,
it follows from the number of ranks.
"""

from mpiric.model.machine import Cores, CoreSet, Level
from mpiric.placement.arrangement import by_domain
from mpiric.placement.policies._policy import PlacementDemand, PlacementPolicy


def _seat(available: CoreSet, demand: PlacementDemand) -> tuple[Cores, ...]:
    for level in (Level.CACHE, Level.NUMA, Level.SOCKET):
        seats = by_domain(available, level, demand.count, demand.width, CoreSet.packed)
        if seats is not None:
            return seats
    return available.packed(demand.count, demand.width)


POLICY = PlacementPolicy("all cores divided in equal parts among the ranks of a node", _seat, shares_out=True)
