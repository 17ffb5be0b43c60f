"""`mpiric map` from the command line, with the engine that was built."""

import json

import pytest
from click.testing import CliRunner

from mpiric.cli.map_ import command
from mpiric.mapping.objectives import OBJECTIVES
from mpiric.model.errors import MpiricError

SQUARES = "8 8\n2 4\n1 3\n2 4\n1 3\n6 8\n5 7\n6 8\n5 7\n"  # two squares


def run(*arguments):
    done = CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)
    return done.stdout


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "squares.metis"
    path.write_text(SQUARES)
    return path


def test_the_answer_is_a_leaf_for_each_vertex_and_what_it_costs(graph, tmp_path):
    out = tmp_path / "out"
    text = run("--graph", graph, "--hierarchy", "1:2", "--distances", "1:10", "--out", out, "--json")
    answer = json.loads(text)
    leaves = out.read_text().splitlines()
    assert {tuple(leaves[:4]), tuple(leaves[4:])} == {("0",) * 4, ("1",) * 4}
    assert (answer["objective"], answer["objective_identity"]) == (0, 0)
    assert answer["seconds"] > 0


def test_ranks_that_exchange_most_come_to_one_node(tmp_path):
    traffic, out = tmp_path / "t.csv", tmp_path / "order"
    traffic.write_text("0 3 100\n1 2 100\n0 1 1\n1 0 0\n")
    answer = json.loads(run("--graph", traffic, "--hierarchy", "2:2", "--out", out, "--json"))
    first, second, third, fourth = (int(slot) // 2 for slot in out.read_text().split())
    assert (first, second) == (fourth, third)
    assert (answer["objective"], answer["objective_identity"]) == (210, 2001)
    assert answer["proposals"]["given"] == 1
    assert min(answer["proposals"].values()) == pytest.approx(210 / 2001)


def test_the_known_best_order_of_a_grid_is_found():
    text = run("--grid", "12x12x12", "--stencil", 7, "--periodic", "--hierarchy", "12:144", "--json")
    assert json.loads(text)["off_node"] == 144 * 32


def test_no_gain_is_said_plainly():
    text = run("--grid", "4x4", "--lines", "rows", "--hierarchy", "4:4")
    assert "no gain expected" in text


def test_weights_far_apart_and_distances_with_fractions_are_mapped(tmp_path):
    traffic = tmp_path / "t.txt"
    traffic.write_text("0 3 1e300\n1 2 1e-300\n0 1 3.5\n1 0 0\n")
    answer = json.loads(run("--graph", traffic, "--hierarchy", "2:2", "--distances", "0.5:2.25", "--json"))
    assert answer["objective"] == pytest.approx(0.5e300)


def test_switches_of_slurm_say_which_nodes_are_near(tmp_path):
    switches, traffic, out = tmp_path / "topology.conf", tmp_path / "t.csv", tmp_path / "hosts"
    switches.write_text("SwitchName=s1 Nodes=n1,n3\nSwitchName=s2 Nodes=n2,n4\nSwitchName=t Switches=s1,s2\n")
    traffic.write_text("0 1 100\n1 0 100\n2 3 100\n3 2 100\n0 2 1\n")
    command = ("--graph", traffic, "--machine", switches, "--hosts", "n[1-4]", "--slots", 1)
    run(*command, "--emit", "slurm", "--out", out)
    hosts = out.read_text().split()
    assert [set(hosts[:2]), set(hosts[2:])] in ([{"n1", "n3"}, {"n2", "n4"}], [{"n2", "n4"}, {"n1", "n3"}])


def test_costs_that_fabric_measured_give_times_and_distances(tmp_path):
    costs, traffic = tmp_path / "fabric.json", tmp_path / "t.csv"
    pairs = [
        {"class": "same NUMA", "latency_us": 1, "bandwidth_MBps": 5000},
        {"class": "same node", "latency_us": 1, "bandwidth_MBps": 5000},
        {"class": "other node", "latency_us": 50, "bandwidth_MBps": 100},
    ]
    costs.write_text(json.dumps({"pairs": pairs}))
    traffic.write_text("0 2 1e6\n2 0 1e6\n1 3 1e6\n3 1 1e6\n")
    answer = json.loads(run("--graph", traffic, "--nodes", "2,2", "--fabric", costs, "--json"))
    assert (answer["off_node"], answer["verdict"]) == (0, "gain expected")
    assert answer["given"]["time_s"] == pytest.approx(0.02)
    assert answer["found"]["time_s"] == pytest.approx((0.5 + 200) / 1e6, rel=0.01)
    assert answer["costs"] == "measured by mpiric fabric"


def test_no_need_is_said_where_a_dragonfly_takes_no_longer():
    stencil = "1,0:1000000;0,1:1000000"
    command = ("--grid", "8x8", "--periodic", "--stencil", stencil, "--network", "dragonfly:2x4x8:adaptive")
    answer = json.loads(run(*command, "--json"))
    assert answer["gain"] > 0.01
    assert answer["verdict"] == "no need"


def test_ranks_that_write_are_spread_over_nodes(tmp_path):
    uses, out = tmp_path / "uses", tmp_path / "out"
    uses.write_text("9\n9\n" + "0\n" * 6)
    run("--grid", "8x1", "--stencil", "1,0", "--hierarchy", "4:2", "--spread", uses, "--out", out)
    first, second = (int(slot) // 4 for slot in out.read_text().split()[:2])
    assert first != second


def test_pictures_show_both_orders(tmp_path):
    page = tmp_path / "order.html"
    command = ("--grid", "8x8", "--stencil", 5, "--network", "torus:2x4", "--show", "--html", page)
    shown = run(*command)
    assert "lines between nodes" in shown
    assert "nodes on the grid of ranks" in shown
    assert "busiest links" in shown
    assert page.read_text().count("<svg") == 3


def test_messages_of_the_busiest_nic_and_bytes_that_leave_nodes_can_be_minimised():
    command = ("--grid", "12x12x12", "--stencil", 7, "--periodic", "--hierarchy", "12:144", "--json")
    assert json.loads(run(*command, "--objective", "off-node"))["off_node"] == 144 * 32
    answer = json.loads(run(*command, "--objective", "nic-messages", "--time-limit", "3s"))
    assert answer["found"]["goal"] <= answer["given"]["goal"] == 48


ODD_TRAFFIC = {
    "nothing sent": "0 0 9\n7 7 1\n",
    "one way": "0 7 5\n",
    "in pieces": "0 1 1\n6 7 1\n2 5 5\n5 2 5\n",
    "with zeroes": "0 1 0\n7 0 3\n",
    "far apart": "0 7 1e300\n1 6 1e-320\n2 5 3\n5 2 0\n",
    "tiny": "0 7 1e-320\n1 6 3e-321\n",
    "near the largest number": "0 7 1e306\n1 6 1\n",
    "to and from one": "".join(f"0 {rank} 1\n{rank} 0 2\n" for rank in range(1, 8)),
}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("traffic", ODD_TRAFFIC.values(), ids=ODD_TRAFFIC)
def test_odd_traffic_gets_an_order_that_is_no_worse(traffic, objective, tmp_path):
    path, out = tmp_path / "t.txt", tmp_path / "order"
    path.write_text(traffic)
    command = ("--graph", path, "--hierarchy", "2:2:2", "--objective", objective, "--out", out, "--json")
    answer = json.loads(run(*command))
    assert sorted(map(int, out.read_text().split())) == list(range(8))
    assert answer["found"]["goal"] <= answer["given"]["goal"]


@pytest.mark.parametrize(
    ("traffic", "arguments", "what"),
    [
        ("0 3 1e308\n1 2 1e308\n", (), "sum of the weights overflows"),
        ("0 3 1e300\n1 2 1\n", ("--distances", "1:1e300"), "overflow"),
        ("0 3 -1\n", (), "negative"),
        ("0 99999999 1\n", (), "cannot be mapped"),
        ("0 2 1\n", (), "3 ranks and 4 slots"),
    ],
)
def test_traffic_that_cannot_be_mapped_is_refused(traffic, arguments, what, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(traffic)
    with pytest.raises(MpiricError, match=what):
        run("--graph", path, "--hierarchy", "2:2", *arguments)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "exactly one of RECORD"),
        (("--grid", "4x4", "--stencil", "5", "--network", "torus:3x3"), "cannot be divided by 9 nodes"),
        (("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:4", "--slots", "4"), "both describe"),
        (("--grid", "4x4", "--stencil", "5", "--machine", "nowhere"), "no such file: nowhere"),
        (("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:4", "--node-level", "2"), "level 2 is not"),
        (("--grid", "4x4", "--stencil", "5", "--slots", "4", "--spread", "io"), "needs a RECORD"),
        (
            ("--grid", "4x4", "--stencil", "5", "--network", "torus:2x2", "--distances", "leaf=3"),
            "'leaf' is not a level",
        ),
        (("--grid", "4x4", "--stencil", "5"), "the machine is missing"),
        (("--grid", "4x4", "--hierarchy", "4:4"), "either --stencil or --lines"),
        (("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:5"), "stay empty"),
        (("--grid", "4x4", "--stencil", "5", "--nodes", "4,x"), "must be between 1 and"),
        (
            ("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:4", "--emit", "slurm"),
            "needs a file to write",
        ),
        (
            ("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:4", "--emit", "x", "--out", "o"),
            "unknown launcher",
        ),
        (("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:4", "--hosts", "a,b"), "2 names for 4 nodes"),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(arguments, what):
    with pytest.raises(MpiricError, match=what):
        run(*arguments)
