"""Compact: ranks side by side on the first cores, none across two NUMA nodes while that can be avoided.

Wins when ranks talk much and memory bandwidth is not what they lack: neighbours share caches.
"""

from mpiric.placement.grounds import Cores, Grounds, Level, packed
from mpiric.placement.policies._policy import Policy, Wanted


def _seat(grounds: Grounds, wanted: Wanted) -> tuple[Cores, ...]:
    seats: list[Cores] = []
    for domain in grounds.domains(Level.NUMA):
        number = min(len(domain.cores) // wanted.width, wanted.count - len(seats))
        seats += packed(domain, number, wanted.width)
    return tuple(seats) if len(seats) == wanted.count else packed(grounds, wanted.count, wanted.width)


POLICY = Policy("ranks side by side on the first cores", _seat)
