"""Launch lines that start one process on each node, and the ledger of measurements."""

import json

import pytest
from tests.support.situations import mpi, situation

from mpiric.fabric.nodes import NodeSpeed, NodesReport
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.job import LaunchOption, Meaning
from mpiric.workflows.fabric.nodes import keep, ledger, past_measurements, situation_on

HOSTS = ("n1", "n2", "n3")
USERS = (
    LaunchOption(("-n", "64"), Meaning.RANKS, ("64",)),
    LaunchOption(("--verbose",)),
)


@pytest.mark.parametrize(
    ("library", "options"),
    [
        (mpi("mpich", "5.0.2"), ("-n", "3", "-hosts", "n1:1,n2:1,n3:1")),
        (mpi("intelmpi", "2021.19"), ("-n", "3", "-hosts", "n1:1,n2:1,n3:1")),
        (mpi("openmpi", "5.0.11"), ("-np", "3", "--host", "n1:1,n2:1,n3:1")),
        (mpi("craympich", "9.0"), ("--ntasks=3", "--nodes=3", "--nodelist=n1,n2,n3", "--ntasks-per-node=1")),
    ],
    ids=lambda value: getattr(value, "implementation", ""),
)
def test_each_host_gets_one_rank_and_other_options_stay(library, options):
    launch = situation_on(HOSTS, situation(library, ranks=64, options=USERS))
    argv = render(Configuration(), launch).argv
    program = launch.job.program
    assert argv[1 : len(argv) - len(program)] == ("--verbose", *options)
    assert launch.nodes == 3


def node(host, speed):
    return NodeSpeed(host, "one kind", {"arithmetic": (speed,)}, {}, {}, 0.0)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.mark.usefixtures("store")
def test_measurements_are_kept_in_their_order_by_node():
    for speed in (8.0, 7.0):
        keep(NodesReport((node("n1", speed), node("n2", 9.0)), (), (), {}))
    assert [row["speeds"]["arithmetic"] for row in past_measurements(["n1"])] == [8.0, 7.0]
    assert len(list(past_measurements([]))) == 4


@pytest.mark.usefixtures("store")
def test_damaged_lines_of_the_ledger_are_skipped():
    keep(NodesReport((node("n1", 8.0),), (), (), {}))
    with ledger().open("a") as file:
        file.write("{\n[]\n" + json.dumps({"host": "n1", "speeds": 3}) + "\n")
    assert len(list(past_measurements([]))) == 1


@pytest.mark.usefixtures("store")
def test_without_a_ledger_there_are_no_measurements():
    assert list(past_measurements([])) == []
