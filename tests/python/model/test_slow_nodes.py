"""The rule for slow nodes: which nodes are named, and with which interval."""

from random import Random

import pytest

from mpiric.model.slow_nodes import slow_nodes


def times(nodes, *, slow=None, slower=0.1, noise=0.01, passes=8, seed=1):
    random = Random(seed)
    return {
        f"n{number}": [
            (1 + slower if number == slow else 1.0) * (1 + random.gauss(0, noise)) for _ in range(passes)
        ]
        for number in range(nodes)
    }


@pytest.mark.parametrize("nodes", [2, 3, 4, 64])
def test_a_node_that_takes_ten_per_cent_longer_is_named_with_an_interval_around_it(nodes):
    (slow,) = slow_nodes(times(nodes, slow=1))
    assert slow.node == "n1"
    assert slow.low < 0.1 < slow.high
    assert slow.low > 0


@pytest.mark.parametrize("nodes", [2, 3, 4, 64])
def test_equal_nodes_are_not_named(nodes):
    assert slow_nodes(times(nodes)) == ()


def test_a_fast_node_is_not_slow():
    assert slow_nodes(times(8, slow=1, slower=-0.2)) == ()


def test_a_difference_below_three_per_cent_is_not_reported():
    assert slow_nodes(times(8, slow=1, slower=0.02, noise=0.0001)) == ()


def test_several_slow_nodes_are_named_the_slowest_first():
    values = {**times(8), "x": [1.2] * 8, "y": [1.4] * 8}
    assert [slow.node for slow in slow_nodes(values)] == ["y", "x"]


def test_one_pass_with_a_long_pause_does_not_make_a_node_slow():
    values = times(8)
    values["n3"][0] *= 3
    assert slow_nodes(values) == ()


def test_nodes_that_differ_widely_hide_a_small_difference():
    spread = {f"n{number}": [1 + 0.05 * number] * 8 for number in range(8)}
    assert slow_nodes(spread) == ()


def test_noise_that_exceeds_the_difference_hides_it():
    assert slow_nodes(times(3, slow=1, noise=0.1)) == ()


def test_a_single_node_has_nothing_to_be_compared_with():
    assert slow_nodes({"n1": [1.0, 2.0]}) == ()
    assert slow_nodes({}) == ()


def test_nothing_is_named_if_half_of_the_nodes_are_slow():
    values = {f"n{number}": [1.0 + number % 2] * 8 for number in range(4)}
    assert slow_nodes(values) == ()
