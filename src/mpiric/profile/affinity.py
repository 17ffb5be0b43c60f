"""Where ranks may run: crowding and binding, from the affinity that each of them recorded."""

from collections import defaultdict

from mpiric.model.profile import RankUse
from mpiric.model.pu_set import parse_pu_list


def affinity_numbers(ranks: tuple[RankUse, ...]) -> dict[str, float]:
    """Nodes, ranks a CPU, the share of unbound ranks, and ranks that share their only CPU."""
    hosts: dict[str, list[frozenset[int]]] = defaultdict(list)
    for rank in ranks:
        hosts[rank.host].append(frozenset(parse_pu_list(rank.affinity)))
    crowding, stacked, unbound, known_ranks = 0.0, 0, 0, 0
    for masks in hosts.values():
        known = [mask for mask in masks if mask]
        every = frozenset().union(*known)
        if not every:
            continue
        known_ranks += len(known)
        crowding = max(crowding, len(masks) / len(every))
        unbound += sum(mask == every for mask in known) if len(every) > 1 else 0
        alone = [min(mask) for mask in known if len(mask) == 1]
        stacked += len(alone) - len(set(alone))
    return {
        "nodes": len(hosts),
        "ranks_per_cpu": crowding,
        "unbound_share": unbound / known_ranks if known_ranks else 0.0,
        "ranks_on_a_taken_cpu": stacked,
    }
