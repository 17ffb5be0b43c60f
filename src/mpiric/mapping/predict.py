"""Costs of an order: link loads by the routing of the network, time by the costs of the machine's levels.

The time of an exchange is the time of its busiest resource: a rank (latency of its messages plus
bytes over the bandwidth of each level), the network access of a node, or a link. It is a lower bound without
waiting, meant for ratios of two orders.
"""

from dataclasses import dataclass

import numpy as np

from mpiric.model.machine_slots import MachineSlots
from mpiric.model.rank_graph import Numbers, RankGraph, SlotTree, Weights

_MOST_LINKED = 2**24  # largest number of pairs of nodes whose routes are followed


@dataclass(frozen=True)
class PredictedTime:
    """Seconds of all traffic, and the resource that determines them."""

    seconds: float
    busiest: str  # "rank 3", "the network access of n2", "link 3 up from leaf 1"


@dataclass(frozen=True)
class LinkUse:
    """Traffic of each link in bytes over its speed; names of the busiest links."""

    loads: Weights
    names: tuple[str, ...]


def levels_between(tree: SlotTree, first: Numbers, second: Numbers) -> Numbers:
    """Return the innermost common level of each pair of slots."""
    levels = np.full(len(first), len(tree.groups) - 1)
    for level in range(len(tree.groups) - 2, -1, -1):
        group = tree.groups[level]
        levels[group[first] == group[second]] = level
    return levels


def node_traffic(graph: RankGraph, machine: MachineSlots, slots: Numbers) -> tuple[Numbers, Numbers, Weights]:
    """Return the traffic between nodes: source, target, bytes; one entry per pair of nodes and direction."""
    node = machine.tree.nodes
    count = int(node[-1]) + 1
    source, target = node[slots[graph.sources]], node[slots[graph.targets]]
    leaves = source != target
    keys, pair = np.unique(source[leaves] * count + target[leaves], return_inverse=True)
    sums: Weights = np.bincount(pair, weights=graph.weights[leaves], minlength=len(keys)).astype(np.float64)
    return keys // count, keys % count, sums


def link_use(graph: RankGraph, machine: MachineSlots, slots: Numbers) -> LinkUse | None:
    """Return the loads of the links; None without a network, or if too many nodes communicate."""
    if machine.network is None or machine.network_nodes is None:
        return None
    sources, targets, sent = node_traffic(graph, machine, slots)
    if len(sent) > _MOST_LINKED:
        return None
    at = machine.network_nodes
    loads = machine.network.link_loads(at[sources], at[targets], sent)
    busiest = np.argsort(-loads, kind="stable")[:16]
    return LinkUse(loads, tuple(machine.network.link_name(int(link)) for link in busiest if loads[link] > 0))


def predicted_time(graph: RankGraph, machine: MachineSlots, slots: Numbers) -> PredictedTime:
    """Return the time of the busiest rank, node or link."""
    tree = machine.tree
    level = levels_between(tree, slots[graph.sources], slots[graph.targets])
    latency_us = np.array([cost.latency_us for cost in machine.costs])
    us_per_byte = np.array([1 / cost.bandwidth_mb_s for cost in machine.costs])
    arcs_us = graph.messages * latency_us[level] + graph.weights * us_per_byte[level]
    of_ranks = np.bincount(graph.sources, weights=arcs_us, minlength=graph.size)
    candidates = [(float(of_ranks.max()), f"rank {int(of_ranks.argmax())}")]
    if tree.node_level + 1 < len(tree.groups):
        access = machine.costs[tree.node_level + 1].bandwidth_mb_s
        sources, _, sent = node_traffic(graph, machine, slots)
        of_nodes = np.bincount(sources, weights=sent, minlength=int(tree.nodes[-1]) + 1) / (
            access * machine.nics
        )
        node = int(of_nodes.argmax())
        host = machine.hosts[int(np.searchsorted(tree.nodes, node))]
        candidates.append((float(of_nodes.max()), f"the network access of {host}"))
        if (links := link_use(graph, machine, slots)) is not None and links.names:
            candidates.append((float(links.loads.max()) / access, links.names[0]))
    us, busiest = max(candidates, key=lambda candidate: candidate[0])
    return PredictedTime(us / 1e6, busiest)
