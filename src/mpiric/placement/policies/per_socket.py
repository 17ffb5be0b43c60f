"""Per socket: equal numbers of ranks on each socket, side by side within it.

The memory channels and links of every socket are used, and neighbours share a socket.
"""

from mpiric.model.machine import CoreSet, Level
from mpiric.placement.arrangement import by_domain
from mpiric.placement.policies._policy import PlacementPolicy

POLICY = PlacementPolicy(
    "equal numbers of ranks on each socket, side by side within it",
    lambda available, demand: by_domain(available, Level.SOCKET, demand.count, demand.width, CoreSet.packed),
)
