"""The routes between all nodes of a machine, as the engine takes them."""

import numpy as np

from mpiric.mapping.engine import LinkRoutes
from mpiric.model.errors import MpiricError
from mpiric.model.machine_slots import MachineSlots

_MOST_NODES = 1024  # whose routes to each other fit into memory


def link_routes(machine: MachineSlots) -> LinkRoutes | None:
    """The links from every node to every other; None without a network."""
    if machine.network is None or machine.network_nodes is None:
        return None
    at = machine.network_nodes
    if len(at) > _MOST_NODES:
        raise MpiricError(
            f"the busiest link of {len(at)} nodes",
            hint=f"links can be optimised for up to {_MOST_NODES} nodes; without --network for more",
        )
    found = machine.network.route(np.repeat(at, len(at)), np.tile(at, len(at)))
    order = np.argsort(found.messages, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(found.messages, minlength=len(at) ** 2))))
    used, links = np.unique(found.links[order], return_inverse=True)
    return LinkRoutes(machine.tree.node_level, machine.network.link_speeds[used], starts, links)
