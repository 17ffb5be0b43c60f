"""Rank orders that a tune may try: promising ones, and the files that the runtime reads."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.records import rank, record, sent
from tests.support.situations import situation

from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import MpiricError
from mpiric.workflows.mapping.orders import (
    check_order,
    hosts_of_slots,
    planned_orders,
    read_order,
    with_order,
)
from mpiric.workflows.mapping.plan_orders import NO_GAIN, keep_first, plan_orders

PAIRS = {0: 4, 1: 5, 2: 6, 3: 7}  # rank → partner
HOSTS = "aabbccdd"


def talking(pairs, hosts=HOSTS):
    ranks = []
    for number, host in enumerate(hosts):
        peers = [sent(pairs[number], 10, 1000)] if number in pairs else []
        ranks.append(rank(number, 1.0, peers=peers, facts={"host": host}))
    return record(*ranks)


def test_ranks_that_talk_sit_together_and_rank_0_stays(tmp_path):
    plan_orders(talking(PAIRS), "r", tmp_path, LocalHost())
    orders = planned_orders(tmp_path)
    best = orders.choices[0]
    assert (best.name, best.off_node, best.hop_bytes) == ("mapped", 0.0, 0.1)
    slots = read_order(Path(best.file))
    assert sorted(slots) == list(range(8))
    assert slots[0] == 0
    assert all(HOSTS[slots[first]] == HOSTS[slots[second]] for first, second in PAIRS.items())
    assert hosts_of_slots(tmp_path) == tuple(HOSTS)


def test_slots_are_those_of_the_launcher_whatever_node_it_began_with(tmp_path):
    """Round robin over the nodes: the launcher's rank r sits on node r modulo 4, and so does its slot."""
    round_robin = "abcdabcd"
    plan_orders(talking({0: 1, 2: 3, 4: 5, 6: 7}, round_robin), "r", tmp_path, LocalHost())
    for choice in planned_orders(tmp_path).choices:
        slots = read_order(Path(choice.file))
        apart = sum(round_robin[slots[at]] != round_robin[slots[at + 1]] for at in (0, 2, 4, 6))
        assert apart / 4 == choice.off_node


def test_where_nothing_can_be_saved_no_order_is_tried(tmp_path):
    plan_orders(talking({0: 1, 2: 3, 4: 5, 6: 7}), "r", tmp_path, LocalHost())
    assert planned_orders(tmp_path).choices == ()
    assert planned_orders(tmp_path).why_not == NO_GAIN
    plan_orders(talking({}), "r", tmp_path, LocalHost())
    assert "no traffic between ranks" in planned_orders(tmp_path).why_not


def test_rank_0_keeps_its_slot_by_exchanging_nodes_and_then_ranks():
    nodes = np.array([0, 0, 1, 1, 2, 2])
    slots = np.array([3, 2, 0, 1, 4, 5])
    new_order = keep_first(slots, 0, nodes)
    assert new_order[0] == 0
    together = lambda order: [nodes[order[at]] == nodes[order[at + 1]] for at in range(5)]  # noqa: E731
    assert together(new_order) == together(slots)


def test_nodes_of_unequal_size_exchange_one_rank():
    order = keep_first(np.array([2, 0, 1]), 0, np.array([0, 1, 1]))
    assert order.tolist() == [0, 2, 1]


def test_an_order_of_a_recipe_becomes_a_file_named_by_its_content(tmp_path):
    case = replace(situation(ranks=4, nodes=2))
    once = with_order(case, (1, 0, 3, 2), "mapped", tmp_path, LocalHost()).rank_orders
    again = with_order(case, (1, 0, 3, 2), "mapped", tmp_path, LocalHost()).rank_orders
    assert once == again
    assert read_order(Path(once.choices[0].file)) == (1, 0, 3, 2)


@pytest.mark.parametrize(
    ("slots", "problem"),
    [
        ((0, 0, 1), "permutation"),
        ((0, 2), "permutation"),
        ((1, 0), "is of 2 ranks, and the job has 3"),
    ],
)
def test_an_invalid_order_is_refused(slots, problem):
    with pytest.raises(MpiricError, match=problem):
        check_order(slots, 3, "order.txt")


def test_an_invalid_order_file_is_reported_with_its_line(tmp_path):
    path = tmp_path / "order.txt"
    path.write_text("# mine\n1\nx\n")
    with pytest.raises(MpiricError, match="line 3: 'x'"):
        read_order(path)
