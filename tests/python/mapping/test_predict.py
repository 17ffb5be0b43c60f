"""Predictions of an order by plain numbers: times, objectives, link loads."""

from dataclasses import replace

import numpy as np
import pytest

from mpiric.mapping.engine import link_routes
from mpiric.mapping.graph import graph_of
from mpiric.mapping.machine_tree import assemble
from mpiric.mapping.networks import parse_network
from mpiric.mapping.objectives import link_use, objective_value, predicted_time
from mpiric.model.mapping import LevelCost, MachineSpec, Mapped, OrderCost, OrderVerdict

COSTS = {"node": LevelCost(1.0, 1000.0), "network": LevelCost(10.0, 100.0)}
TWO_NODES = assemble(MachineSpec(hosts=("a", "b"), slots=(2,), costs=COSTS, costs_source="test"))
IN_ORDER = np.arange(4)


def graph(*pairs, size=4):
    columns = np.array(pairs, dtype=np.float64).T
    ends = columns[:2].astype(np.int64)
    return graph_of(size, ends[0], ends[1], columns[2], messages=columns[3])


def both_ways(source, target, size, messages):
    return (source, target, size, messages), (target, source, size, messages)


def test_a_rank_takes_the_latency_of_its_messages_and_the_time_of_their_bytes():
    time = predicted_time(graph(*both_ways(0, 1, 5000.0, 3.0)), TWO_NODES, IN_ORDER)
    assert (time.seconds, time.busiest) == (pytest.approx((3 * 1 + 5) / 1e6), "rank 0")


def test_ranks_of_a_node_share_its_way_into_the_network():
    traffic = graph(*both_ways(0, 2, 1e6, 1.0), *both_ways(1, 3, 1e6, 1.0))
    time = predicted_time(traffic, TWO_NODES, IN_ORDER)
    assert (time.seconds, time.busiest) == (pytest.approx(0.02), "the network access of a")
    two = predicted_time(traffic, replace(TWO_NODES, nics=2), IN_ORDER)
    assert two.busiest.startswith("rank")


def test_objectives_count_bytes_distances_and_messages():
    traffic = graph((0, 1, 8.0, 2.0), (1, 2, 100.0, 5.0))
    values = {
        name: objective_value(name, traffic, TWO_NODES, IN_ORDER) for name in ("off-node", "nic-messages")
    }
    assert values == {"off-node": 100.0, "nic-messages": 2.5}
    assert objective_value("hop-bytes", traffic, TWO_NODES, IN_ORDER) == 8 * 4 + 100 * 10
    assert objective_value("worst-link", traffic, TWO_NODES, IN_ORDER) == 50.0


def test_traffic_of_several_nodes_meets_on_a_link():
    ring = assemble(MachineSpec(slots=(1,), network=parse_network("torus:5")))
    slot = [ring.hosts.index(f"node{i + 1}") for i in range(5)]
    traffic = graph(*both_ways(0, 2, 8.0, 1.0), *both_ways(1, 2, 4.0, 1.0), size=5)
    links = link_use(traffic, ring, np.array(slot))
    assert links is not None
    assert (links.loads.max(), links.names[0]) == (12.0, "(1) +x")


def test_routes_for_the_engine_are_those_of_the_network():
    machine = assemble(MachineSpec(slots=(2,), network=parse_network("dragonfly:2x2x3")))
    routes = link_routes(machine)
    assert routes is not None
    nodes = len(machine.network_nodes)
    for a, b in ((0, 0), (0, 1), (0, 2), (0, 11)):
        sources, targets = machine.network_nodes[[a]], machine.network_nodes[[b]]
        count = routes.starts[a * nodes + b + 1] - routes.starts[a * nodes + b]
        assert count == len(machine.network.route(sources, targets).links)


def mapped(before: OrderCost, after: OrderCost) -> Mapped:
    return Mapped(IN_ORDER, IN_ORDER, after, before, "hop-bytes", "smp", {}, 0.1, 1, 0)


def test_a_shorter_route_with_equal_time_is_not_needed():
    before = OrderCost(100, 50, 100, time_s=2.0, busiest="rank 0")
    assert mapped(before, replace(before, goal=60, time_s=1.999)).verdict is OrderVerdict.NO_NEED
    assert mapped(before, replace(before, goal=60, time_s=1.5)).verdict is OrderVerdict.GAIN
    assert mapped(before, replace(before, goal=99.5)).verdict is OrderVerdict.NO_GAIN
    unknown = replace(before, time_s=None)
    assert mapped(unknown, replace(unknown, goal=60)).verdict is OrderVerdict.GAIN


def test_a_resource_spread_is_a_gain_whatever_the_distance():
    before = OrderCost(100, 50, 100, heaviest_use=80.0)
    assert mapped(before, replace(before, goal=120, heaviest_use=20.0)).verdict is OrderVerdict.GAIN
