"""Per socket: equal numbers of ranks in every socket, side by side inside it.

Wins because every socket's memory channels and links are used, and neighbours share a socket.
"""

from mpiric.placement.grounds import Level, by_domain, packed
from mpiric.placement.policies._policy import Policy

POLICY = Policy(
    "equal numbers of ranks in every socket, side by side inside it",
    lambda grounds, wanted: by_domain(grounds, Level.SOCKET, wanted.count, wanted.width, packed),
)
