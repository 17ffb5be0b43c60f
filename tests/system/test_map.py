"""`mpiric map` from the command line, with the engine that was built."""

import json

import pytest
from click.testing import CliRunner

from mpiric.cli.map_ import command
from mpiric.model.errors import MpiricError

SQUARES = "8 8\n2 4\n1 3\n2 4\n1 3\n6 8\n5 7\n6 8\n5 7\n"  # two squares


def run(*words):
    done = CliRunner().invoke(command, [*map(str, words)], catch_exceptions=False)
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


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "what is to be mapped"),
        (("--grid", "4x4", "--stencil", "5"), "map onto"),
        (("--grid", "4x4", "--hierarchy", "4:4"), "who talks to whom"),
        (("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:5"), "stay empty"),
        (("--grid", "4x4", "--stencil", "5", "--nodes", "4,x"), "no slots of nodes"),
        (("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:4", "--emit", "slurm"), "writes a file"),
        (
            ("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:4", "--emit", "x", "--out", "o"),
            "no launcher",
        ),
        (("--grid", "4x4", "--stencil", "5", "--hierarchy", "4:4", "--hosts", "a,b"), "2 names for 4 nodes"),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(words, what):
    with pytest.raises(MpiricError, match=what):
        run(*words)
