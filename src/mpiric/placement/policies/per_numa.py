"""Per NUMA node: equal numbers of ranks on each NUMA node, side by side within it.

Ranks that share memory stay together, and the memory of every NUMA node is used.
"""

from mpiric.model.machine import CoreSet, Level
from mpiric.placement.arrangement import by_domain
from mpiric.placement.policies._policy import PlacementPolicy

POLICY = PlacementPolicy(
    "equal numbers of ranks on each NUMA node, side by side within it",
    lambda available, demand: by_domain(available, Level.NUMA, demand.count, demand.width, CoreSet.packed),
)
