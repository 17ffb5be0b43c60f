"""Per NUMA node: equal numbers of ranks in every NUMA node, side by side inside it.

Wins because ranks that share memory stay together and each NUMA node's memory is used.
"""

from mpiric.model.core_set import CoreSet, Level
from mpiric.placement.arrangement import by_domain
from mpiric.placement.policies._policy import PlacementPolicy

POLICY = PlacementPolicy(
    "equal numbers of ranks in every NUMA node, side by side inside it",
    lambda available, wanted: by_domain(available, Level.NUMA, wanted.count, wanted.width, CoreSet.packed),
)
