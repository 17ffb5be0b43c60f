"""Output of `mpiric nodes`: table, sentences, the option that leaves out slow nodes, and the exit status."""

import json

import pytest
from click.testing import CliRunner

from mpiric.cli import nodes as verb
from mpiric.fabric.nodes import NodeSpeed, judge_nodes
from mpiric.model.errors import ExitCode


def node(host, speed, load=0.0, thp="madvise"):
    noise = (1.0, 1.001, 0.999, 1.0)
    return NodeSpeed(
        host, "Xeon", {"arithmetic": tuple(speed * n for n in noise)}, {"huge pages": thp}, {}, load
    )


ALIKE = [node(f"n{number}", 10.0) for number in range(1, 6)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")

    def run(nodes, *options, failed=None, scheduler=""):
        report = judge_nodes(nodes, failed or {}, scheduler)
        monkeypatch.setattr(verb, "examine_nodes", lambda *_: report)
        return CliRunner().invoke(verb.command, options, standalone_mode=False)

    return run


def test_a_slow_node_is_named_with_its_effect_and_the_other_hosts(run):
    done = run([*ALIKE, node("n17", 8.0)])
    assert done.return_value == ExitCode.SLOWER
    assert "n17 is slow:" in done.output
    assert "20 % below the median of the others, 10" in done.output
    assert "without the slow nodes: --hosts n1,n2,n3,n4,n5" in done.output


def test_a_large_effect_is_a_factor(run):
    slow = NodeSpeed("n9", "Xeon", {"latency": (40.0,) * 4}, {}, {}, 0.0)
    alike = [NodeSpeed(f"n{n}", "Xeon", {"latency": (2.0,) * 4}, {}, {}, 0.0) for n in range(4)]
    assert "latency: 40 µs, 20 times the median of the others, 2" in run([*alike, slow]).output


def test_in_a_slurm_job_the_option_of_slurm_is_printed(run):
    assert "--exclude=n17" in run([*ALIKE, node("n17", 8.0)], scheduler="slurm").output


def test_the_load_of_a_slow_node_is_named(run):
    done = run([*ALIKE, node("n17", 8.0, load=2.1)])
    assert "load average was 2.1 before the measurement and 0 on another node" in done.output


def test_equal_nodes_end_well_and_the_false_alarms_are_stated(run):
    done = run(ALIKE)
    assert done.return_value == 0
    assert "false alarms: at most 1 %" in done.output


def test_a_different_setting_and_a_node_without_peers_are_named(run):
    other = NodeSpeed("gpu1", "Epyc", {"arithmetic": (9.0,)}, {}, {}, 0.0)
    done = run([*ALIKE, node("n6", 10.0, thp="never"), other])
    assert "huge pages: never on n6, madvise on most nodes" in done.output
    assert "gpu1 has no other node of its kind" in done.output
    assert done.return_value == 0


def test_nodes_that_did_not_start_are_named_and_the_others_judged(run):
    done = run(ALIKE, failed={"n9": "ssh: connect to host n9: No route to host"})
    assert "n9 was not measured: ssh: connect to host n9" in done.output
    assert done.return_value == 0


def test_json_has_the_option_and_the_measurements(run):
    answer = json.loads(run([*ALIKE, node("n17", 8.0)], "--json").output)
    assert answer["slow"] == ["n17"]
    assert answer["exclude"] == "--hosts n1,n2,n3,n4,n5"
    assert answer["outliers"][0]["quantity"] == "arithmetic"
    assert len(answer["nodes"]) == 6


def test_history_shows_each_measurement_of_a_node(run):
    run([*ALIKE, node("n17", 8.0)])
    run([*ALIKE, node("n17", 10.0)])
    done = run([], "--history", "--hosts", "n17")
    assert done.output.count("n17") == 2
    assert "arithmetic -20 %" in done.output
    assert "no measurements of n99" in run([], "--history", "--hosts", "n99").output
