"""Per NUMA node: equal numbers of ranks in every NUMA node, side by side inside it.

Wins because ranks that share memory stay together and each NUMA node's memory is used.
"""

from mpiric.placement.grounds import Level, by_domain, packed
from mpiric.placement.policies._policy import Policy

POLICY = Policy(
    "equal numbers of ranks in every NUMA node, side by side inside it",
    lambda grounds, wanted: by_domain(grounds, Level.NUMA, wanted.count, wanted.width, packed),
)
