"""Per shared cache: equal numbers of ranks on each shared cache, side by side within it.

Each rank has the same share of a cache, and its threads communicate through it.
"""

from mpiric.model.machine import CoreSet, Level
from mpiric.placement.arrangement import by_domain
from mpiric.placement.policies._policy import PlacementPolicy

POLICY = PlacementPolicy(
    "equal numbers of ranks on each shared cache, side by side within it",
    lambda available, demand: by_domain(available, Level.CACHE, demand.count, demand.width, CoreSet.packed),
)
