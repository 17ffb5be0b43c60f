"""Rank orders that a tune may try: the engine's order for the traffic of a recorded run, and simple ones."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from mpiric.host.host import Host
from mpiric.host.owned_files import write_text
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import MachineSpec, Numbers, SlotTree
from mpiric.model.rank_order import RankOrderChoice
from mpiric.model.record import Record
from mpiric.workflows.mapping.machine import record_on_machine
from mpiric.workflows.mapping.map import MapRequest, map_ranks, order_cost
from mpiric.workflows.mapping.orders import DIRECTORY, LIST, text_of
from mpiric.workflows.mapping.record import RecordedTraffic, traffic_of

_LEAST_GAIN = 0.01  # minimum saving of weighted hop-bytes
NO_GAIN = "no gain expected: no other order has its messages go a shorter way"


def plan_orders(record: Record, name: str, directory: Path, host: Host) -> None:
    """Find orders with less traffic between nodes, and write them to ``directory``."""
    choices: tuple[RankOrderChoice, ...] = ()
    hosts: tuple[str, ...] = ()
    try:
        traffic = traffic_of(record, name)
        choices = _better(traffic, directory / DIRECTORY, host)
        why_not = "" if choices else NO_GAIN
        placed = record_on_machine(traffic, MachineSpec())
        hosts = tuple(placed.machine.hosts[slot] for slot in placed.slots_before)
    except MpiricError as error:
        why_not = error.message
    text = {"why_not": why_not, "hosts": hosts, "choices": [asdict(choice) for choice in choices]}
    write_text(directory / DIRECTORY / LIST, json.dumps(text, indent=1) + "\n")


def _better(traffic: RecordedTraffic, directory: Path, host: Host) -> tuple[RankOrderChoice, ...]:
    """Return distinct orders with a saving, the best first."""
    placed = record_on_machine(traffic, MachineSpec())
    tree, slots_before = placed.machine.tree, placed.slots_before
    if len(traffic.nodes) < 2:
        return ()
    request = MapRequest(traffic.graph, placed.machine, slots_before)
    today = order_cost(request, slots_before)
    proposals = {"mapped": map_ranks(request, host).slots, **_plain(tree)}
    launched = np.argsort(slots_before)  # rank that the launcher starts in each slot
    by_order: dict[bytes, tuple[float, RankOrderChoice]] = {}
    for name, proposal in proposals.items():
        slots = keep_first(proposal, int(slots_before[0]), tree.nodes)
        cost = order_cost(request, slots)
        if today.hop_bytes <= 0 or cost.hop_bytes > (1 - _LEAST_GAIN) * today.hop_bytes:
            continue
        path = directory / f"{name}.txt"
        off = cost.off_node / today.off_node if today.off_node > 0 else 1.0
        choice = RankOrderChoice(name, str(path.absolute()), off, cost.hop_bytes / today.hop_bytes)
        if by_order.setdefault(slots.tobytes(), (cost.hop_bytes, choice))[1] is choice:
            write_text(path, text_of(launched[slots].tolist()))
    return tuple(choice for _, choice in sorted(by_order.values(), key=lambda item: item[0]))


def keep_first(slots: Numbers, first: int, nodes: Numbers) -> Numbers:
    """Return an equivalent or similar order with rank 0 in slot ``first``, which gets the launcher's input.

    Nodes of equal size are exchanged, then ranks within the node.
    """
    order: Numbers = slots.copy()
    node, first_node = nodes[order[0]], nodes[first]
    node_slots, first_slots = np.flatnonzero(nodes == node), np.flatnonzero(nodes == first_node)
    if node != first_node and len(node_slots) == len(first_slots):
        exchanged = np.arange(len(slots))
        exchanged[node_slots], exchanged[first_slots] = first_slots, node_slots
        order = exchanged[order]
    in_first = int(np.flatnonzero(order == first)[0])
    order[0], order[in_first] = first, order[0]
    return order


def _plain(tree: SlotTree) -> dict[str, Numbers]:
    """Return distributions of ranks over the nodes that launchers have options for."""
    nodes = tree.nodes
    position = np.zeros(tree.slots, dtype=np.int64)  # position of each slot on its node
    for node in np.unique(nodes):
        position[nodes == node] = np.arange(np.count_nonzero(nodes == node))
    by: dict[str, Callable[[], Numbers]] = {
        "block": lambda: np.arange(tree.slots),
        "round-robin": lambda: np.lexsort((nodes, position)),
        "folded": lambda: np.lexsort((np.where(position % 2, -nodes, nodes), position)),
    }
    return {name: order().astype(np.int64) for name, order in by.items()}
