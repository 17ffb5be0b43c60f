"""`mpiric nodes --submit` on real Slurm: a job for each idle node, and a ledger of all of them."""

import json
import subprocess

import pytest
from tests.lab.enter import command_line
from tests.lab.plan import host_names
from tests.lab.slurm.config import SlurmPlan
from tests.support.slurm_lab import NEEDS

from mpiric.model.errors import ExitCode

pytestmark = [
    pytest.mark.requires(*NEEDS),
    pytest.mark.requires("mpi:mpich", "libpmi2.so.0"),
    pytest.mark.sweep,
    pytest.mark.timeout(900),
]
HOSTS = host_names("4")
SLURM = SlurmPlan()
PATIENCE_S = 240


def output_of(login, *command):
    line = command_line(login.lab, "n1", list(command))
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout


def finished(session, login):
    output = session.communicate(timeout=PATIENCE_S)[0]
    assert session.returncode in (0, ExitCode.SLOWER), login.said
    return json.loads(output)


def test_each_idle_node_is_measured_in_a_job_and_its_measurements_are_kept(login):
    busy = ["sbatch", "--parsable", "--exclusive", "--nodelist=n4", "--output=/dev/null", "--wrap=sleep 600"]
    job = output_of(login, *busy).strip()
    output_of(login, "sh", "-c", f"until squeue -h -t R -j {job} | grep -q . ; do sleep 1; done")
    try:
        answer = finished(login.start("nodes", "--submit", "--sbatch=--comment=nodes", "--json"), login)
    finally:
        output_of(login, "scancel", job)
    assert {node["host"] for node in answer["nodes"]} == {"n1", "n2", "n3"}
    assert all({"arithmetic", "memory bandwidth"} <= set(node["speeds"]) for node in answer["nodes"])
    assert answer["failed"] == {}
    assert "submitting a job to each of 3 nodes" in login.said
    rows = finished(login.start("nodes", "--history", "--json"), login)["measurements"]
    assert sorted(row["host"] for row in rows) == ["n1", "n2", "n3"]


def test_a_node_that_slurm_does_not_know_is_reported_and_the_others_are_measured(login):
    answer = finished(login.start("nodes", "--submit", "--hosts", "n1,n99", "--json"), login)
    assert [node["host"] for node in answer["nodes"]] == ["n1"]
    assert "n99" in answer["failed"]
    assert "n99 was not measured" in login.said
