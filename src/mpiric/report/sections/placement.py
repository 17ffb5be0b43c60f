"""Where ranks really sat: nodes, their NUMA nodes, the CPUs they were bound to."""

from collections import defaultdict
from typing import Any

from mpiric.model.profile import Profile, RankUse

TITLE = "Where the ranks sat"
_MOST_NODES, _MOST_RANKS = 64, 256


def view(profile: Profile) -> dict[str, Any]:
    """Node → NUMA node → ranks."""
    nodes: dict[str, dict[int, list[RankUse]]] = defaultdict(lambda: defaultdict(list))
    for use in profile.ranks:
        nodes[use.host][use.numa_node].append(use)
    shown = list(nodes.items())[:_MOST_NODES]
    return {
        "nodes": [
            (host, [(numa, uses[:_MOST_RANKS], len(uses)) for numa, uses in sorted(domains.items())])
            for host, domains in shown
        ],
        "left_out": len(nodes) - len(shown),
        "crowding": profile.numbers["ranks_per_cpu"],
        "unbound": profile.numbers["unbound_share"],
    }
