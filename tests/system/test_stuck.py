"""Runs that do not come back: doctor, profile and ps say what each rank waits for."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from mpiric.model.errors import ExitCode

SOURCE = Path(__file__).parent / "programs/stuck.c"
LAUNCHERS = {
    "mpich": ("mpiexec.mpich",),
    "openmpi": ("mpirun.openmpi", "--oversubscribe"),
}
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LIMIT_S = 6
pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize(
        "stack", [pytest.param(name, marks=pytest.mark.requires(f"debian-{name}")) for name in LAUNCHERS]
    ),
]


@pytest.fixture
def launch(tmp_path):
    def line(stack: str, kind: str, ranks: int = 2) -> tuple[str, ...]:
        program = tmp_path / "stuck"
        if not program.exists():
            subprocess.run([f"mpicc.{stack}", "-g", str(SOURCE), "-o", str(program)], check=True, timeout=60)
        return (*LAUNCHERS[stack], "-n", str(ranks), str(program), kind)

    return line


@pytest.fixture
def first_finding(run_mpiric, launch):
    """Return the first finding of doctor on a program that it ends."""

    def run(stack, kind, ranks=2, **options):
        argv = ("doctor", "--json", "--limit", f"{LIMIT_S}s", "--", *launch(stack, kind, ranks))
        done = run_mpiric(*argv, env=ROOT, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["findings"][0]

    return run


def test_two_large_sends_are_a_deadlock(first_finding, stack):
    finding = first_finding(stack, "sends")
    assert finding["id"] == "deadlock"
    assert finding["says"].startswith("Deadlock: ranks 0 and 1 have been in MPI_Send for ")
    assert "(160,000 bytes to 1 and to 0): each waits for the other to receive" in finding["says"]
    assert "main (stuck.c:" in finding["evidence"]


def test_a_wait_names_the_receive_that_it_waits_for(first_finding, stack):
    says = first_finding(stack, "wait")["says"]
    assert "in MPI_Wait for" in says
    assert "MPI_Irecv from 1, tag 7" in says


def test_barriers_on_different_communicators_are_a_deadlock(first_finding, stack):
    finding = first_finding(stack, "order")
    assert finding["id"] == "deadlock"
    assert "rank 0 has been in MPI_Barrier on MPI_COMM_WORLD" in finding["says"]
    assert "rank 1 has been in MPI_Barrier on copy of MPI_COMM_WORLD" in finding["says"]


def test_the_rank_that_does_not_enter_a_barrier_is_named_with_its_place(first_finding, stack):
    finding = first_finding(stack, "barrier", ranks=3)
    assert finding["id"] == "missing-participant"
    assert finding["says"].startswith(
        "Rank 2 has not entered MPI_Barrier on MPI_COMM_WORLD, in which ranks 0 and 1 wait: "
        "it is in application code at endless (stuck.c:"
    )


def test_a_rank_that_waits_for_input_is_named(first_finding, stack):
    reading, writing = os.pipe()  # a terminal that nobody types into
    try:
        finding = first_finding(stack, "input", stdin=reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert finding["id"] == "waits-for-input"
    assert finding["says"].startswith("Rank 0 waits for standard input, and rank 1 has been in MPI_Barrier")


@pytest.mark.parametrize("kind", ["works", "computes"])
def test_a_run_that_works_until_the_limit_is_not_stuck(first_finding, stack, kind):
    assert first_finding(stack, kind)["id"] not in (
        "deadlock",
        "missing-participant",
        "waits-for-input",
        "no-progress",
    )


def test_profile_does_not_call_a_deadlock_healthy(run_mpiric, launch, tmp_path, stack):
    argv = ("profile", "--for", "6s", "-o", tmp_path / "p", "--", *launch(stack, "sends"))
    done = run_mpiric(*argv, env=ROOT)
    assert done.returncode == 0, done.stderr
    assert "Healthy" not in done.stderr
    assert "each waits for the other to receive" in " ".join(done.stderr.split())
    later = json.loads(run_mpiric("report", "--json", tmp_path / "p").stdout)
    assert later["findings"][0]["id"] == "deadlock"
    assert later["mpi_share"] > 0.8


def test_ps_shows_what_a_profiled_job_waits_for(run_mpiric, launch, tmp_path, stack):
    line = [str(word) for word in launch(stack, "sends")]
    prepared = run_mpiric("profile", "--dry-run", "-o", tmp_path / "p", "--", *line, env=ROOT)
    (tmp_path / "p").mkdir()
    job = subprocess.Popen(["sh", "-c", f"exec env {prepared.stdout}"], env={**os.environ, **ROOT})
    try:
        time.sleep(4)
        findings = json.loads(run_mpiric("ps", "--json", str(job.pid)).stdout)["findings"]
    finally:
        job.terminate()  # the launcher, which ends its ranks
        job.wait(timeout=20)
    assert "deadlock" in [finding["id"] for finding in findings]


def test_tune_says_why_the_command_does_not_come_to_its_end(run_mpiric, launch, tmp_path, stack):
    argv = ("tune", "--budget", "20s", "--store", tmp_path / "s", "--", *launch(stack, "sends"))
    done = run_mpiric(*argv, env=ROOT)
    assert done.returncode == ExitCode.PROGRAM_FAILED
    assert "the command does not come to its end: Deadlock: ranks 0 and 1 have been" in done.stderr
