"""Objectives in terms of the engine, which minimises hop-bytes or the load of the busiest link."""

from dataclasses import dataclass, replace

import numpy as np

from mpiric.mapping.predict import link_use
from mpiric.model.machine_slots import MachineSlots
from mpiric.model.rank_graph import Numbers, RankGraph, SlotTree, Weights, hop_bytes, off_node_weight

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
