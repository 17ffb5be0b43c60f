"""Whole node: all cores shared out in equal parts, each inside one NUMA node where that is possible.

The hybrid splits: 8 ranks on a node of 128 cores get 16 threads each. Without a number of threads it is
worked out from the number of ranks.
"""

from mpiric.placement.grounds import Cores, Grounds, Level, by_domain, packed
from mpiric.placement.policies._policy import Policy, Wanted


def _seat(grounds: Grounds, wanted: Wanted) -> tuple[Cores, ...]:
    for level in (Level.CACHE, Level.NUMA, Level.SOCKET):
        seats = by_domain(grounds, level, wanted.count, wanted.width, packed)
        if seats is not None:
            return seats
    return packed(grounds, wanted.count, wanted.width)


POLICY = Policy("all cores shared out in equal parts among the ranks of a node", _seat, shares_out=True)
