"""Objectives of a mapping, and the time model that predicts the effects of an order."""

from dataclasses import replace

import numpy as np

from mpiric.model.dataclass import dataclass
from mpiric.model.mapping import (
    MachineSlots,
    Numbers,
    RankGraph,
    SlotTree,
    Weights,
    hop_bytes,
    off_node_weight,
)

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


OBJECTIVES = ("hop-bytes", "off-node", "worst-link", "nic-messages")


@dataclass(frozen=True)
class EngineTask:
    """Problem of the engine that represents an objective."""

    graph: RankGraph
    tree: SlotTree
    objective: str  # objective of the engine: "hop-bytes" or "worst-link"


def engine_task(objective: str, graph: RankGraph, tree: SlotTree, nics: int = 1) -> EngineTask:
    """Express an objective in terms of the engine.

    Off-node bytes are hop-bytes on a tree of nodes only; messages per NIC are the load of its busiest link.
    """
    if objective == "off-node":
        return EngineTask(graph, _nodes_alone(tree, (0.0, 1.0)), "hop-bytes")
    if objective == "nic-messages":
        counted = replace(graph, weights=np.maximum(graph.messages, 0.5))
        return EngineTask(counted, _per_nic(_nodes_alone(tree, (0.0, 1.0)), nics), "worst-link")
    return EngineTask(graph, tree, objective)


def objective_value(objective: str, graph: RankGraph, machine: MachineSlots, slots: Numbers) -> float:
    """Return the cost of an order: bytes times distance, bytes, or messages."""
    tree = machine.tree
    if objective == "hop-bytes":
        return hop_bytes(graph, tree, slots)
    if objective == "off-node":
        return off_node_weight(graph, tree, slots)
    if objective == "nic-messages":
        nics = _per_nic(_nodes_alone(tree, (0.0, 1.0)), machine.nics)
        return _most_leaving(graph.messages, graph, nics.groups[0], slots)
    links = link_use(graph, machine, slots)
    levels = range(max(len(tree.groups) - 1, 1)) if links is None else range(tree.node_level + 1)
    groups = [tree.groups[level] if len(tree.groups) > 1 else tree.nodes for level in levels]
    group_load = max(_most_leaving(graph.weights, graph, group, slots) for group in groups)
    return max(group_load, 0.0 if links is None else float(links.loads.max(initial=0)))


def _most_leaving(weights: Weights, graph: RankGraph, group: Numbers, slots: Numbers) -> float:
    source, target = group[slots[graph.sources]], group[slots[graph.targets]]
    leaves = source != target
    return float(np.bincount(source[leaves], weights=weights[leaves]).max(initial=0))


def _nodes_alone(tree: SlotTree, distances: tuple[float, float]) -> SlotTree:
    network = np.zeros(tree.slots, dtype=np.int64)
    return SlotTree(tree.slots, (tree.nodes, network), distances, levels=("node", "network"))


def _per_nic(tree: SlotTree, nics: int) -> SlotTree:
    """Group the slots by NIC: each node's slots are divided among its NICs in order."""
    if nics == 1:
        return tree
    node = tree.groups[0]
    counts = np.bincount(node)
    place = np.arange(tree.slots) - (np.cumsum(counts) - counts)[node]
    nic = node * nics + place * nics // counts[node]
    _, numbered = np.unique(nic, return_inverse=True)
    return SlotTree(tree.slots, (numbered, tree.groups[1]), tree.distances, levels=("nic", "network"))
