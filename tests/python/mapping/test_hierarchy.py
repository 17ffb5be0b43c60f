"""Trees of slots and their distances."""

import numpy as np
import pytest

from mpiric.mapping.graph import graph_of, parse_distances, parse_hierarchy, uniform_tree
from mpiric.mapping.machine_tree import assemble
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import MachineSpec, hop_bytes, off_node_weight


def distance(tree, a, b):
    return float(tree.between(np.array([a]), np.array([b]))[0])


def test_the_innermost_level_is_first():
    tree = uniform_tree(parse_hierarchy("4:2:2"), parse_distances("1:10:100", 3))
    assert [distance(tree, 0, slot) for slot in (0, 3, 4, 8)] == [0, 1, 10, 100]


def test_nodes_may_differ_in_size():
    tree = assemble(MachineSpec(slots=(1, 3), hosts=("a", "b"), distances={"node": 1, "network": 10})).tree
    assert (tree.slots, distance(tree, 0, 1), distance(tree, 1, 3)) == (4, 10, 1)


def test_hop_bytes_count_each_ordered_pair():
    graph = graph_of(2, np.array([0]), np.array([1]), np.array([8.0]))
    tree = assemble(MachineSpec(slots=(1,), hosts=("a", "b"), distances={"network": 10})).tree
    order = np.array([1, 0])
    assert (hop_bytes(graph, tree, order), off_node_weight(graph, tree, order)) == (80, 8)


@pytest.mark.parametrize("text", ["", "4:", "0:4", "4:x", "99999:99999:99", ":".join("1" * 17)])
def test_an_invalid_hierarchy_is_refused(text):
    with pytest.raises(MpiricError):
        parse_hierarchy(text)


@pytest.mark.parametrize("text", ["1", "1:2:3", "1:x", "-1:2", "10:1", "1:inf", "1:nan"])
def test_distances_that_do_not_fit_are_refused(text):
    with pytest.raises(MpiricError):
        parse_distances(text, 2)
