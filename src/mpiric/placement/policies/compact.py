"""Compact: ranks side by side on the first cores, none across two NUMA nodes while that can be avoided.

Wins when ranks talk much and memory bandwidth is not what they lack: neighbours share caches.
"""

from mpiric.model.core_set import Cores, CoreSet, Level
from mpiric.placement.policies._policy import PlacementPolicy, Wanted


def _seat(available: CoreSet, wanted: Wanted) -> tuple[Cores, ...]:
    seats: list[Cores] = []
    for domain in available.domains(Level.NUMA):
        number = min(len(domain.cores) // wanted.width, wanted.count - len(seats))
        seats += domain.packed(number, wanted.width)
    return tuple(seats) if len(seats) == wanted.count else available.packed(wanted.count, wanted.width)


POLICY = PlacementPolicy("ranks side by side on the first cores", _seat)
