"""Per shared cache: equal numbers of ranks in every shared cache, side by side inside it.

Wins because each rank has as much of a cache as any other, and its threads talk through it.
"""

from mpiric.placement.grounds import Level, by_domain, packed
from mpiric.placement.policies._policy import Policy

POLICY = Policy(
    "equal numbers of ranks in every shared cache, side by side inside it",
    lambda grounds, wanted: by_domain(grounds, Level.CACHE, wanted.count, wanted.width, packed),
)
