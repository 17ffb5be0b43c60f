"""Per shared cache: equal numbers of ranks in every shared cache, side by side inside it.

Wins because each rank has as much of a cache as any other, and its threads talk through it.
"""

from mpiric.model.core_set import CoreSet, Level
from mpiric.placement.arrangement import by_domain
from mpiric.placement.policies._policy import PlacementPolicy

POLICY = PlacementPolicy(
    "equal numbers of ranks in every shared cache, side by side inside it",
    lambda available, wanted: by_domain(available, Level.CACHE, wanted.count, wanted.width, CoreSet.packed),
)
