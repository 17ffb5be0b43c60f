"""Jobs that measure one node each under a fake scheduler: answers, refused jobs, and an interruption."""

from dataclasses import replace

import pytest
from tests.support.stand_in import StandIn

from mpiric.model.errors import MismatchError, NotFoundError, ProgramFailedError
from mpiric.schedulers import Patience
from mpiric.workflows.fabric import cluster_jobs
from mpiric.workflows.fabric.nodes import NodesRequest
from mpiric.workflows.fabric.partition_nodes import examine_partition

PATIENCE = Patience(first_s=0.05, longest_s=0.1, controller_s=20)
REQUEST = NodesRequest((), "/", {})
# A job prints a measurement of its node, n2 is slow.
MEASURES = """
import json, os
host = os.environ["SLURM_JOB_NODELIST"]
speed = 8.0 if host == "n2" else 10.0
print(json.dumps({"nodes": [{"host": host, "kind": "Xeon", "speeds": {"arithmetic": [speed] * 8},
                             "settings": {}, "amounts": {}, "load": 0.0}]}))
"""


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    program = tmp_path / "measures.py"
    program.write_text(MEASURES)
    monkeypatch.setattr(cluster_jobs, "own_command", lambda python: (python, str(program)))
    return StandIn("slurm", tmp_path, hosts=("n1", "n2", "n3", "n4", "n5"))


def examined(cluster, **more):
    messages = []
    report = examine_partition(REQUEST, cluster.host(), messages.append, patience=PATIENCE, **more)
    return report, messages


def test_each_idle_node_is_measured_in_its_own_job_and_compared_with_the_others(cluster):
    cluster.set(down=["n5"])
    report, messages = examined(cluster)
    assert [node.host for node in report.nodes] == ["n1", "n2", "n3", "n4"]
    assert report.slow == ("n2",)
    assert (report.failed, report.scheduler) == ({}, "slurm")
    assert messages[0] == "submitting a job to each of 4 nodes"


def test_the_jobs_have_the_options_of_the_user_and_the_node(cluster, tmp_path):
    examined(cluster, partition="fast", options=("--account=p1",))
    script = next((tmp_path / "state").rglob("n3.sh")).read_text()
    assert {"#SBATCH --nodelist=n3", "#SBATCH --account=p1", "#SBATCH --partition=fast"} <= set(
        script.splitlines()
    )
    assert "nodes --json --no-history >" in script


def test_a_refused_job_is_a_node_that_was_not_measured(cluster, monkeypatch):
    submit = cluster_jobs.BatchScheduler.submit

    def refuse(self, host, script, settings, patience=None):
        if "n4" in script:
            raise MismatchError("sbatch failed: QOSMaxSubmitJobPerUserLimit")
        return submit(self, host, script, settings, patience)

    monkeypatch.setattr(cluster_jobs.BatchScheduler, "submit", refuse)
    report, _ = examined(cluster)
    assert report.failed == {"n4": "sbatch failed: QOSMaxSubmitJobPerUserLimit"}
    assert len(report.nodes) == 4


def test_a_job_without_an_answer_is_a_node_that_was_not_measured(cluster, tmp_path):
    (tmp_path / "measures.py").write_text(MEASURES + 'raise SystemExit(host == "n3" and 7)\n')
    report, _ = examined(cluster)
    assert list(report.failed) == ["n3"]
    assert "the job ended as FAILED" in report.failed["n3"]


def test_an_interruption_cancels_the_waiting_jobs_and_keeps_the_answers(cluster):
    request = replace(REQUEST, hosts=("n1", "n2", "n3", "n4"))
    cluster.set(down=["n4"])
    ended = set()

    def say(line):
        ended.update(line.split(":")[0] for _ in [0] if line.endswith("ended"))
        if ended == {"n1", "n2", "n3"}:
            raise KeyboardInterrupt

    report = examine_partition(request, cluster.host(), say, patience=PATIENCE)
    assert report.failed["n4"].startswith("its job was cancelled")
    assert report.slow == ("n2",)


def test_without_idle_nodes_and_without_any_answer_there_is_an_error(cluster, tmp_path):
    (tmp_path / "measures.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(ProgramFailedError, match="none of the nodes was measured"):
        examined(cluster)
    cluster.set(down=["n1", "n2", "n3", "n4", "n5"])
    with pytest.raises(NotFoundError, match="no idle nodes in the default partition"):
        examined(cluster)


def test_damaged_answers_are_not_measurements(cluster, tmp_path):
    no_number = {"host": "n1", "kind": "", "load": 0, "speeds": {"arithmetic": ["x"]}}
    rows = [None, 3, {}, {"host": "n1"}, no_number]
    (tmp_path / "measures.py").write_text(f"import json; print(json.dumps({{'nodes': {rows!r}}}))\n")
    with pytest.raises(ProgramFailedError, match="its job left no measurement"):
        examined(cluster)
