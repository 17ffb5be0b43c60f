"""Networks: distances, groups, routes and loads by plain numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpiric.mapping.networks import network_kinds, parse_network
from mpiric.model.errors import MpiricError

SMALL = ("torus:4x3x2", "fat-tree:4x3", "fat-tree:2x3x4", "dragonfly:2x4x5", "dragonfly+:3x2x4")


def links(network, source: int, target: int) -> list[str]:
    route = network.route(np.array([source]), np.array([target]))
    return [network.link_name(int(link)) for link in route.links]


def hops(network, source: int, target: int) -> int:
    return len(links(network, source, target))


def test_every_kind_of_network_has_a_sample():
    assert {text.partition(":")[0] for text in SMALL} == set(network_kinds())


@pytest.mark.parametrize("text", SMALL)
def test_a_route_has_no_more_links_than_its_level_says_and_none_at_home(text):
    network = parse_network(text)
    every = np.arange(network.nodes)
    sources, targets = np.repeat(every, len(every)), np.tile(every, len(every))
    count = np.bincount(network.route(sources, targets).messages, minlength=len(sources))
    level = np.full(len(sources), len(network.groups))
    for number in reversed(range(len(network.groups))):
        level[network.groups[number][sources] == network.groups[number][targets]] = number
    assert (count <= np.array(network.hops)[level]).all()
    assert not count[sources == targets].any()


@pytest.mark.parametrize("text", SMALL)
def test_loads_are_the_bytes_over_the_links_of_routes(text):
    network = parse_network(text)
    sources, targets = np.array([0, 0, 1]), np.array([network.nodes - 1, 1, network.nodes - 2])
    loads = network.link_loads(sources, targets, np.array([5.0, 2.0, 3.0])) * network.link_speeds
    lengths = [hops(network, int(a), int(b)) for a, b in zip(sources, targets, strict=True)]
    assert loads.sum() == pytest.approx(np.dot(lengths, [5.0, 2.0, 3.0]))


def test_a_torus_goes_the_shorter_way_round_one_dimension_after_the_other():
    network = parse_network("torus:4x5")
    assert links(network, 0, 3 * 5 + 2) == ["(0,0) -x", "(3,0) +y", "(3,1) +y"]
    assert network.distance(np.array([0]), np.array([17])).tolist() == [3]


def test_messages_to_one_node_share_a_way_down_a_fat_tree():
    network = parse_network("fat-tree:4x3")
    assert links(network, 1, 6) == ["link 2 up from leaf 0", "link 2 down to leaf 1"]
    assert links(network, 9, 6)[-1] == "link 2 down to leaf 1"
    assert links(network, 4, 6) == []


def test_pods_of_a_fat_tree_are_joined_above_their_leaves():
    network = parse_network("fat-tree:2x3x4")
    assert (hops(network, 0, 2), hops(network, 0, 6)) == (2, 4)


def test_groups_of_a_dragonfly_are_joined_by_one_router_each():
    network = parse_network("dragonfly:1x3x4")
    assert links(network, 0, 1) == ["router 0 to router 1"]
    crossing = [links(network, a, b) for a in range(3) for b in range(6, 9)]
    assert all("group 0 to group 2" in route for route in crossing)
    assert sum(len(route) == 1 for route in crossing) == 1


def test_adaptive_routing_spreads_over_all_links_of_a_group():
    network = parse_network("dragonfly:2x4x5:adaptive")
    assert links(network, 0, 9) == ["out of router 0", "into router 4", "out of group 0", "into group 1"]
    loads = network.link_loads(np.array([0]), np.array([9]), np.array([8.0]))
    assert sorted(loads[loads > 0].tolist()) == [1, 1, 4, 4]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ring:4", "unknown kind of network"),
        ("torus:4x", "does not describe"),
        ("torus:0x4", "does not describe"),
        ("torus:4x4:adaptive", "not a routing"),
        ("dragonfly:2x4x5:lucky", "not a routing"),
        ("\ntorus:torus:4x2", "unknown kind of network"),
        ("torus:9999x9999", "can be described|has .* nodes"),
        ("dragonfly:4x4", "three numbers"),
        ("dragonfly+:4", "three numbers"),
        ("fat-tree:4", "two or three"),
    ],
)
def test_an_inconsistent_network_is_refused(text, what):
    with pytest.raises(MpiricError, match=what):
        parse_network(text)


@settings(deadline=None, max_examples=100)
@given(st.text("torusfatdragnly+-:x0123456789", max_size=16))
def test_any_words_are_a_network_or_refused_in_one_sentence(text):
    try:
        network = parse_network(text)
    except MpiricError as error:
        assert "\n" not in error.message  # noqa: PT017
    else:
        assert network.nodes > 0
