"""Compact: ranks side by side on the first cores, none across two NUMA nodes if that can be avoided.

It suits programs that communicate much and are not limited by memory bandwidth: neighbours share caches.
"""

from mpiric.model.machine import Cores, CoreSet, Level
from mpiric.placement.policies._policy import PlacementDemand, PlacementPolicy


def _seat(available: CoreSet, demand: PlacementDemand) -> tuple[Cores, ...]:
    seats: list[Cores] = []
    for domain in available.domains(Level.NUMA):
        number = min(len(domain.cores) // demand.width, demand.count - len(seats))
        seats += domain.packed(number, demand.width)
    return tuple(seats) if len(seats) == demand.count else available.packed(demand.count, demand.width)


POLICY = PlacementPolicy("ranks side by side on the first cores", _seat)
