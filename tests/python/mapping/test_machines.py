"""Machines from files: their trees of slots, and errors."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpiric.mapping.machine_tree import assemble, joined_specs, measured_distances, with_fabric
from mpiric.mapping.machine_yaml import parse_machine_yaml
from mpiric.mapping.networks import parse_network
from mpiric.mapping.switches import parse_slurm_topology
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import MachineSpec

TOPOLOGY = """\
# two leaves
SwitchName=s1 Nodes=n[1,3]
SwitchName=s2 Nodes=n[2,4] LinkSpeed=100
SwitchName=top Switches=s[1-2]
"""
SCONTROL = """\
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1,3]
SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[2,4]
SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]
"""


def distance(machine, a, b):
    return float(machine.tree.between(np.array([a]), np.array([b]))[0])


@pytest.mark.parametrize("text", [TOPOLOGY, SCONTROL])
def test_nodes_of_one_switch_are_near_each_other(text):
    machine = assemble(MachineSpec(slots=(2,), network=parse_slurm_topology(text, "t")))
    assert machine.tree.levels == ("node", "switch", "network")
    assert machine.hosts == ("n1", "n1", "n3", "n3", "n2", "n2", "n4", "n4")
    assert distance(machine, 0, 1) < distance(machine, 0, 2) < distance(machine, 0, 4)


def test_an_allocation_may_have_holes_and_nodes_of_different_sizes():
    spec = MachineSpec(hosts=("n4", "n1", "n3"), slots=(1, 3, 2), network=parse_slurm_topology(TOPOLOGY, "t"))
    machine = assemble(spec)
    assert machine.hosts == ("n1", "n1", "n1", "n3", "n3", "n4")
    assert machine.launch_hosts == ("n4", "n1", "n1", "n1", "n3", "n3")
    assert [group.tolist() for group in machine.tree.groups] == [
        [0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 0, 1], [0] * 6,
    ]  # fmt: skip


def test_blocks_of_slurm_are_groups_without_a_switch_above():
    network = parse_slurm_topology("BlockName=b1 Nodes=a,b\nBlockName=b2 Nodes=c,d\n", "t")
    assert assemble(MachineSpec(slots=(1,), network=network)).tree.groups[1].tolist() == [0, 0, 1, 1]


def test_levels_inside_a_node_come_before_it():
    machine = assemble(parse_machine_yaml("nodes: n[1-2]\nslots: 8\ninside: {numa: 2, socket: 4}\n", "m"))
    assert machine.tree.levels == ("numa", "socket", "node", "network")
    assert machine.tree.node_level == 2
    assert machine.tree.nodes.tolist() == [0] * 8 + [1] * 8
    assert [distance(machine, 0, slot) for slot in (1, 2, 4, 8)] == [1, 2, 4, 10]


def test_a_node_that_is_half_used_has_its_slots_spread_over_it():
    text = "nodes: {n1: 4}\ninside: {numa: 4}\n"
    node = assemble(parse_machine_yaml("nodes: {n1: 8}\ninside: {numa: 4}\n", "m"))
    spec = joined_specs(
        [parse_machine_yaml("nodes: {n1: 8}\ninside: {numa: 4}\n", "m"), MachineSpec(slots=(4,))]
    )
    assert node.tree.groups[0].tolist() == [0] * 4 + [1] * 4
    assert assemble(spec).tree.groups[0].tolist() == [0, 0, 1, 1]
    assert len(assemble(parse_machine_yaml(text, "m")).tree.groups) == 2


def test_distances_on_a_torus_are_those_of_its_links():
    text = "network: torus:4x4\nnodes: a,b,c\nat: {a: [0, 0], b: [3, 3], c: [2, 2]}\nslots: 1\n"
    machine = assemble(parse_machine_yaml(text, "m"))
    slot = {host: number for number, host in enumerate(machine.hosts)}
    assert distance(machine, slot["a"], slot["b"]) == distance(machine, slot["b"], slot["c"]) == 8 + 2
    assert distance(machine, slot["a"], slot["c"]) == 8 + 4


def test_fabric_measurements_become_costs_and_distances():
    pairs = [
        {"class": "same NUMA", "latency_us": 0.5, "bandwidth_MBps": 10000},
        {"class": "other node", "latency_us": 2, "bandwidth_MBps": 1000},
    ]
    spec = with_fabric(MachineSpec(hosts=("a", "b"), slots=(2,)), json.dumps({"pairs": pairs}), "f")
    machine = assemble(spec)
    assert [cost.latency_us for cost in machine.costs] == [0.5, 2]
    assert machine.costs_source
    tree = assemble(measured_distances(spec, machine.tree.levels, 10000.0)).tree
    assert tree.distances == pytest.approx((1.0, 12 / 1.5))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SwitchName=s1 Nodes=a\nSwitchName=s1 Nodes=b", "twice"),
        ("SwitchName=s1 Nodes=a\nSwitchName=s2 Nodes=a", "below s1 and below s2"),
        ("SwitchName=s1 Switches=s2", "not a switch"),
        ("SwitchName=s1 Switches=s2\nSwitchName=s2 Switches=s1", "have no nodes|below itself"),
        ("SwitchName=s1 Nodes=a\nSwitchName=x Switches=s1\nSwitchName=y Switches=s1", "below x and below y"),
        ("SwitchName=s1 Nodes=n[1-", "cannot be read"),
        ("", "has no switches"),
    ],
)
def test_a_topology_that_contradicts_itself_is_refused(text, what):
    with pytest.raises(MpiricError, match=what):
        parse_slurm_topology(text, "t")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("- a", "not a description"),
        ("{", "not YAML"),
        ("nodez: a", "'nodez' is not a key"),
        ("nodes: {a: 0}", "nodes: must be an integer"),
        ("nodes: [a]", "neither a list"),
        ("slots: many", "slots: must be an integer"),
        ("inside: {numa: 3, socket: 4}", "not a multiple"),
        ("network: 5", "not a network"),
        ("network: torus:2x2\nswitches: {s: a}", "exclude each other"),
        ("network: torus:2x2\nat: {a: [0, 2]}", "outside the network"),
        ("at: {a: 0}", "need a network"),
        ("costs: {node: 3}", "latency_us and bandwidth_MBps"),
        ("costs: {node: {latency_us: 1, bandwidth_MBps: 0}}", "bandwidth of node"),
        ("distances: {node: -1}", "must be a number"),
        ("switches: {s: [a]}", "needs a list"),
    ],
)
def test_an_inconsistent_yaml_file_is_refused(text, what):
    with pytest.raises(MpiricError, match=what):
        parse_machine_yaml(text, "m")


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        (MachineSpec(), "ranks per node is missing"),
        (MachineSpec(hosts=("a", "a"), slots=(1,)), "named twice"),
        (MachineSpec(hosts=("a",), slots=(1, 2)), "a number for each|slots of 2"),
        (MachineSpec(hosts=("a",), slots=(0,)), "no slots"),
        (MachineSpec(hosts=tuple("abcde"), slots=(1,), network=parse_network("torus:2x2")), "has 4"),
        (
            MachineSpec(hosts=("a", "b"), slots=(1,), network=parse_network("torus:2x2"), positions={"a": 0}),
            "does not have the node b",
        ),
        (
            MachineSpec(
                hosts=("a", "b"), slots=(1,), network=parse_network("torus:2x2"), positions={"a": 0, "b": 0}
            ),
            "same position",
        ),
    ],
)
def test_a_machine_that_does_not_fit_together_is_refused(spec, what):
    with pytest.raises(MpiricError, match=what):
        assemble(spec)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"pairs": 3}', '{"pairs": [{"class": "other node"}]}', '{"pairs": []}',
             '{"pairs": [{"class": "other node", "latency_us": 1, "bandwidth_MBps": 0}]}'],
)  # fmt: skip
def test_an_invalid_result_of_fabric_is_refused(text):
    with pytest.raises(MpiricError):
        with_fabric(MachineSpec(), text, "f")


PIECES = st.sampled_from(
    ["SwitchName=", "s1", "s2", " Nodes=", "n[1-3]", "n2", " Switches=", "\n", "nodes: ", "slots: ", "3", "{",
     "}", ": ",
     "at: ", "network: ", "torus:2x2", "inside: ", "numa", ", ", "[", "]", "costs: ", "-", "&a", "*a", "#"]
)  # fmt: skip


@pytest.mark.parametrize("reader", [parse_slurm_topology, parse_machine_yaml])
@settings(deadline=None, max_examples=200)
@given(text=st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=20).map("".join)))
def test_any_text_is_a_machine_or_refused_in_one_sentence(reader, text):
    try:
        spec = reader(text, "file")
        assemble(spec if isinstance(spec, MachineSpec) else MachineSpec(slots=(1,), network=spec))
    except MpiricError as error:
        assert "\n" not in error.message  # noqa: PT017
