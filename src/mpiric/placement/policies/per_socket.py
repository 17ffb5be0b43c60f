"""Per socket: equal numbers of ranks in every socket, side by side inside it.

Wins because every socket's memory channels and links are used, and neighbours share a socket.
"""

from mpiric.model.core_set import CoreSet, Level
from mpiric.placement.arrangement import by_domain
from mpiric.placement.policies._policy import PlacementPolicy

POLICY = PlacementPolicy(
    "equal numbers of ranks in every socket, side by side inside it",
    lambda available, wanted: by_domain(available, Level.SOCKET, wanted.count, wanted.width, CoreSet.packed),
)
