"""What a record says for an order of ranks: who sent how much, and where each rank sat."""

import pytest
from tests.support.records import rank, record, sent

from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import hop_bytes, off_group_weight
from mpiric.workflows.mapping.record import traffic_of


def on(host, number, *peers):
    return rank(number, 1.0, peers=peers, facts={"host": host})


def test_slots_are_counted_node_by_node_whatever_the_ranks_are_called():
    traffic = traffic_of(record(on("a", 0, sent(1, 1, 8)), on("b", 1), on("a", 2), on("b", 3)), "r")
    assert traffic.hosts == ("a", "a", "b", "b")
    assert traffic.given.tolist() == [0, 2, 1, 3]


def test_what_crosses_nodes_costs_their_distance():
    traffic = traffic_of(
        record(on("a", 0, sent(1, 2, 8), sent(2, 1, 100)), on("a", 1), on("b", 2)), "r", (1, 10)
    )
    assert hop_bytes(traffic.graph, traffic.tree, traffic.given) == 8 + 1000
    assert off_group_weight(traffic.graph, traffic.tree, traffic.given) == 100


def test_a_run_without_all_its_ranks_or_without_messages_is_refused():
    with pytest.raises(MpiricError, match="lacks 1 of 2 ranks"):
        traffic_of(record(on("a", 0), world_size=2), "r")
    with pytest.raises(MpiricError, match="no traffic"):
        traffic_of(record(on("a", 0), on("a", 1)), "r")
