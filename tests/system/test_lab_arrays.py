"""`tune --submit --array` and `sweep --submit --array` over real Slurm."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.lab import cluster
from tests.lab.plan import host_names
from tests.lab.slurm import daemons
from tests.lab.slurm.config import SlurmPlan
from tests.support.login import PATIENCE_S
from tests.support.slurm_lab import NEEDS

from mpiric.schedulers import batch_scheduler

QUEUE = batch_scheduler("slurm")

pytestmark = [
    pytest.mark.requires(*NEEDS),
    pytest.mark.requires("mpi:mpich", "libpmi2.so.0"),
]
HOSTS = host_names("5")  # two jobs of two hosts at a time, and one host more
SLURM = SlurmPlan()
SRUN = ("srun", "--nodes=2", "--ntasks=2", "--mpi=pmi2")
ARRAY = ("--array", "3%2", "--slice", "30s")


def await_that(condition, login):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, login.said
        time.sleep(0.1)


def recorded_trials(login):
    """Trials in the records of the blocks, each once, as (block, number)."""
    results = []
    for path in login.store.glob("*/rounds/*/*/events.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        results += [(entry["block"], entry["number"]) for entry in events if entry["event"] == "trial"]
    return results


def blocks_of(login, number):
    return {block.partition(".")[0] for block, _ in recorded_trials(login) if block.startswith(f"{number}-")}


def end(session):
    """Kill all processes of a session, as when a login session is lost."""
    os.killpg(session.pid, signal.SIGKILL)
    session.communicate()


def finished(session, login):
    """Return the final result of the tune, and check that each measurement is recorded once."""
    tuned = json.loads(session.communicate(timeout=PATIENCE_S)[0])
    assert session.returncode == 0, login.said
    recorded = sorted((trial["block"], trial["number"]) for trial in login.trials())
    assert recorded == sorted(recorded_trials(login))
    assert tuned["runs"] == len(recorded)
    return tuned


def test_a_tune_is_made_by_an_array(login):
    finished(login.tune(*ARRAY, "--max-runs", "10", srun=SRUN), login)
    assert "jobs submitted as array" in login.said
    assert "failed" not in {trial["outcome"] for trial in login.trials()}


@pytest.mark.sweep
def test_jobs_of_an_array_end_their_runs_at_the_marks_that_the_first_one_found(login, mpi_prefix):
    program = login.place / "steps"
    source = Path(__file__).parent / "programs/steps.c"
    subprocess.run([mpi_prefix("mpich") / "bin/mpicc", source, "-o", program], check=True)
    options = ("--budget", "60s", "--max-runs", "14", "--only", "malloc", "--try-all")
    command = ("tune", "--submit", "--json", "--store", str(login.store), *options, *ARRAY)
    tuned = finished(login.start(*command, "--", *SRUN, str(program), "MALLOC_MMAP_MAX_"), login)
    assert (tuned["scope"], tuned["rejected"]) == ("steps", [])
    assert tuned["stopped_trials"] == tuned["runs"]
    compared = [trial for trial in login.trials() if trial["phase"] in ("search", "proof")]
    assert all(trial["split"]["per_mark_s"] == trial["objective"] for trial in compared)
    pairs = {str(event["pair"]) for event in login.events() if event["event"] == "marks"}
    assert len(pairs) == 1


@pytest.mark.sweep
def test_a_tune_is_made_by_arrays_of_short_jobs(login):
    finished(login.tune(*ARRAY, "--max-runs", "50", srun=SRUN), login)
    assert len(blocks_of(login, 1)) > 1
    assert "jobs submitted as array" in login.said
    assert "failed" not in {trial["outcome"] for trial in login.trials()}


@pytest.mark.sweep
def test_arrays_outlive_the_login_session_a_host_and_the_controller(login, lab, host):
    session = login.tune(*ARRAY, "--max-runs", "60", srun=SRUN)
    await_that(lambda: blocks_of(login, 1), login)
    end(session)
    cluster.crash(lab, "n3")
    daemons.stop(lab, "n1", ["slurmctld"])
    daemons.start(lab, "n1")
    before = recorded_trials(login)
    again = login.tune(*ARRAY, "--max-runs", "60", "--resume", srun=SRUN)

    def hurry():
        """Start a requeued job at once, which Slurm would delay by two minutes."""
        for job in (job for job in login.jobs() if "_" in job):
            host.run(["scontrol", "update", f"JobId={job}", "StartTime=now"])
        time.sleep(1)
        return again.poll() is not None

    await_that(hurry, login)
    finished(again, login)
    assert set(before) <= set(recorded_trials(login))
    assert "failed" not in {trial["outcome"] for trial in login.trials()}
    cluster.boot(lab, "n3")


@pytest.mark.sweep
def test_a_cancelled_array_goes_on_when_somebody_asks(login, host):
    session = login.tune(*ARRAY, "--max-runs", "60", srun=SRUN)
    await_that(lambda: blocks_of(login, 1), login)
    QUEUE.cancel(host, [next(job for job in login.jobs() if "_" in job).partition("_")[0]])
    session.communicate(timeout=PATIENCE_S)
    assert session.returncode == 130, login.said
    assert "was cancelled; its measurements are kept" in login.said
    before = recorded_trials(login)
    again = login.tune(*ARRAY, "--max-runs", "60", "--resume", srun=SRUN)
    finished(again, login)
    assert set(before) <= set(recorded_trials(login))


@pytest.mark.sweep
def test_a_sweep_is_made_by_an_array(login):
    out = login.place / "swept"
    options = ("--json", "--collectives", "barrier,bcast,allreduce", "--sizes", "8,1K", "--seconds", "0.002")
    command = ("--submit", "--array", "2", "--sbatch=-N 2", "--out", str(out), *options)
    session = login.start("sweep", *command, "--", "mpiexec", "-n", "2", "-ppn", "1")
    swept = json.loads(session.communicate(timeout=PATIENCE_S)[0])
    assert session.returncode == 0, login.said
    assert {key["collective"] for key in swept["keys"]} == {"barrier", "bcast", "allreduce"}
    assert swept["points"] >= 6
    assert swept["launches"] == 0  # the jobs have measured all of it
    assert (out / "mpiric.policy").read_text().startswith("mpiric-policy 1")
    assert len(list(out.glob("rounds/1/*/sweep.jsonl"))) == 2
