"""Topologies of recorded and of made-up machines."""

from functools import cache
from pathlib import Path

from mpiric.machine import read_topology
from mpiric.model.machine import Core, NumaNode, Topology
from mpiric.model.placement import PlacementRequest, Plan
from mpiric.placement import plan

DATA = Path(__file__).parents[1] / "data"


@cache
def recorded(name: str) -> Topology:
    """Return a topology of tests/data/machines."""
    text = (DATA / "machines" / f"{name}.xml").read_text()
    return read_topology(text)


def made_up(*numa_cores: int, smt: int = 1) -> Topology:
    """Return a machine with these numbers of cores per NUMA node; each NUMA node is a socket.

    The second hardware threads of the cores are numbered after all first ones.
    """
    count = sum(numa_cores)
    owners = [node for node, number in enumerate(numa_cores) for _ in range(number)]
    cores = tuple(
        Core(i, owner, owner, tuple(i + s * count for s in range(smt))) for i, owner in enumerate(owners)
    )
    nodes = tuple(
        NumaNode(node, 1 << 30, tuple(pu for core in cores if core.numa_node == node for pu in core.pus))
        for node in range(len(numa_cores))
    )
    return Topology(cores, nodes, ())


def placed(topology: Topology, ranks: int, **request) -> Plan:
    usable = request.pop("usable", ())
    return plan(topology, PlacementRequest(ranks=ranks, **request), usable)


def cores_of(placement_plan: Plan) -> list[list[int]]:
    return [[core.index for core in seat.cores] for seat in placement_plan.seats]
