"""Input of the mapping from a record: traffic between ranks, and their places."""

from dataclasses import replace

import pytest
from tests.support.records import rank, record, sent

from mpiric.mapping.switches import parse_slurm_topology
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import MachineSpec, Mapped, OrderProposal, hop_bytes, off_node_weight
from mpiric.profile.analyse import analyse
from mpiric.report.profile_html import profile_html
from mpiric.workflows.mapping.machine import MachineRequest, rank_order, record_on_machine
from mpiric.workflows.mapping.map import MapRequest, order_cost
from mpiric.workflows.mapping.record import traffic_of


def on(host, number, *peers):
    return rank(number, 1.0, peers=peers, facts={"host": host})


def test_slots_are_counted_node_by_node_whatever_the_ranks_are_called():
    traffic = traffic_of(record(on("a", 0, sent(1, 1, 8)), on("b", 1), on("a", 2), on("b", 3)), "r")
    assert (traffic.nodes, traffic.slots) == (("a", "b"), (2, 2))
    assert traffic.slots_before.tolist() == [0, 2, 1, 3]


def test_messages_between_nodes_cost_their_distance():
    traffic = traffic_of(record(on("a", 0, sent(1, 2, 8), sent(2, 1, 100)), on("a", 1), on("b", 2)), "r")
    spec = MachineSpec(distances={"node": 1, "network": 10})
    placed = record_on_machine(traffic, spec)
    tree = placed.machine.tree
    assert hop_bytes(traffic.graph, tree, placed.slots_before) == 8 + 1000
    assert off_node_weight(traffic.graph, tree, placed.slots_before) == 100


def test_nodes_of_one_switch_are_adjacent_and_the_launchers_numbering_is_kept():
    network = parse_slurm_topology(
        "SwitchName=s1 Nodes=a,c\nSwitchName=s2 Nodes=b\nSwitchName=t Switches=s[1-2]", "t"
    )
    traffic = traffic_of(record(on("a", 0, sent(1, 1, 8)), on("b", 1), on("c", 2)), "r")
    placed = record_on_machine(traffic, MachineSpec(network=network))
    assert placed.machine.hosts == ("a", "c", "b")
    assert placed.slots_before.tolist() == [0, 2, 1]
    assert placed.machine.launch_hosts == ("a", "b", "c")
    assert rank_order(placed.machine, placed.slots_before).slots == (0, 1, 2)


def test_a_node_that_the_switches_do_not_have_is_named():
    network = parse_slurm_topology("SwitchName=s1 Nodes=a", "t")
    traffic = traffic_of(record(on("a", 0, sent(1, 1, 8)), on("b", 1)), "r")
    with pytest.raises(MpiricError, match="does not have the node b"):
        record_on_machine(traffic, MachineSpec(network=network))


def test_nodes_of_the_next_job_take_the_places_of_the_recorded_ones():
    traffic = traffic_of(record(on("a", 0, sent(1, 1, 8)), on("b", 1), on("a", 2)), "r")
    placed = record_on_machine(traffic, MachineSpec(), MachineRequest(hosts=("x", "y"), slots=(2, 1)))
    assert placed.machine.launch_hosts == ("x", "x", "y")
    other_nodes = record_on_machine(traffic, MachineSpec(), MachineRequest(hosts=("x", "y", "z"), slots=(1,)))
    assert other_nodes.machine.launch_hosts == ("x", "y", "z")
    with pytest.raises(MpiricError, match="3 nodes, and slots of 2"):
        record_on_machine(traffic, MachineSpec(), MachineRequest(hosts=("x", "y", "z")))
    with pytest.raises(MpiricError, match="has 3 ranks, and the machine has 4 slots"):
        record_on_machine(traffic, MachineSpec(), MachineRequest(slots=(2,)))


def test_a_run_without_all_its_ranks_or_without_messages_is_refused():
    with pytest.raises(MpiricError, match="lacks 1 of 2 ranks"):
        traffic_of(record(on("a", 0), world_size=2), "r")
    with pytest.raises(MpiricError, match="no traffic"):
        traffic_of(record(on("a", 0), on("a", 1)), "r")


def test_the_report_on_a_record_shows_both_orders():
    ranks = [on("ab"[number % 2], number, sent((number + 2) % 4, 5, 1000)) for number in range(4)]
    traffic = traffic_of(record(*ranks), "r")
    placed = record_on_machine(traffic, MachineSpec())
    cost = order_cost(MapRequest(traffic.graph, placed.machine), placed.slots_before)
    mapped = Mapped(placed.slots_before, placed.slots_before, cost, cost, "hop-bytes", "given", {}, 0.0, 1, 0)
    proposal = OrderProposal(mapped, traffic.graph, placed.machine)
    page = profile_html(replace(analyse(record(*ranks), "app"), order=proposal), "1")
    section = page.partition('<section id="order">')[2].partition("</section>")[0]
    assert "<svg" in section
    assert "no gain expected" in section
