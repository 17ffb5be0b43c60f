"""Placement of the ranks: packages, NUMA nodes and cores of each node, with the ranks on them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from mpiric.model.dataclass import dataclass
from mpiric.model.machine import Core
from mpiric.model.profile import NodeTopology, Profile, RankUse
from mpiric.model.pu_set import parse_pu_list

TITLE = "Placement of the ranks"
_MOST_NODES, _MOST_RANKS = 64, 256


@dataclass(frozen=True)
class DrawnCore:
    """A core in the picture: ranks bound to it, and unbound ranks that started on it."""

    core: Core
    bound: tuple[int, ...]
    started: tuple[int, ...]


def view(profile: Profile) -> dict[str, Any]:
    """Return a picture of each node with known cores; for the other nodes NUMA node → ranks."""
    nodes: dict[str, list[RankUse]] = defaultdict(list)
    for use in profile.ranks:
        nodes[use.host].append(use)
    shape_of = profile.shape.host if profile.shape else ""
    shown = list(nodes.items())[:_MOST_NODES]
    return {
        "nodes": [(host, _packages(uses, profile.shape), _domains(uses)) for host, uses in shown],
        "left_out": len(nodes) - len(shown),
        "crowding": profile.numbers["ranks_per_cpu"],
        "unbound": profile.numbers["unbound_share"],
        "assumed": any(host != shape_of for host, _ in shown),
        "shape_of": shape_of,
    }


def _domains(uses: Sequence[RankUse]) -> list[tuple[int, list[RankUse], int]]:
    domains: dict[int, list[RankUse]] = defaultdict(list)
    for use in uses:
        domains[use.numa_node].append(use)
    return [(numa, ranks[:_MOST_RANKS], len(ranks)) for numa, ranks in sorted(domains.items())]


def _packages(uses: Sequence[RankUse], shape: NodeTopology | None) -> list[tuple[int, list[Any]]]:
    """Return package → NUMA node → cores; nothing for a node that cannot have this topology."""
    if shape is None:
        return []
    all_pus = {pu for core in shape.cores for pu in core.pus}
    masks = {use.rank: set(parse_pu_list(use.affinity)) or {use.cpu} for use in uses}
    if not all_pus.issuperset(set().union({use.cpu for use in uses}, *masks.values())):
        return []
    seats: dict[int, dict[int, list[DrawnCore]]] = defaultdict(lambda: defaultdict(list))
    for core in shape.cores:
        pus = set(core.pus)
        bound = tuple(rank for rank, mask in masks.items() if mask & pus and mask != all_pus)
        started = tuple(use.rank for use in uses if use.cpu in pus and masks[use.rank] == all_pus)
        seats[core.package][core.numa_node].append(DrawnCore(core, bound, started))
    return [(package, sorted(domains.items())) for package, domains in sorted(seats.items())]
