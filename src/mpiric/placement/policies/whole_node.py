"""Whole node: all cores shared out in equal parts, each inside one NUMA node where that is possible.

The hybrid splits: 8 ranks on a node of 128 cores get 16 threads each. Without a number of threads it is
worked out from the number of ranks.
"""

from mpiric.model.core_set import Cores, CoreSet, Level
from mpiric.placement.arrangement import by_domain
from mpiric.placement.policies._policy import PlacementPolicy, Wanted


def _seat(available: CoreSet, wanted: Wanted) -> tuple[Cores, ...]:
    for level in (Level.CACHE, Level.NUMA, Level.SOCKET):
        seats = by_domain(available, level, wanted.count, wanted.width, CoreSet.packed)
        if seats is not None:
            return seats
    return available.packed(wanted.count, wanted.width)


POLICY = PlacementPolicy(
    "all cores shared out in equal parts among the ranks of a node", _seat, shares_out=True
)
