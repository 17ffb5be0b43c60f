"""Jobs that sit badly are caught while they run, by `mpiric place --verify` and `mpiric ps`."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.spin import build_spin

from mpiric.model.errors import ExitCode

pytestmark = pytest.mark.requires("gcc", "debian-openmpi", "debian-mpich", "several-cores")
PATIENCE_S = 200  # limit of an observation, which ends with the program


@pytest.fixture
def spin(tmp_path: Path) -> str:
    """A program whose threads are busy for some seconds."""
    return str(build_spin(tmp_path))


@pytest.fixture
def verify(run_mpiric):
    def finding_ids(*arguments: object, **env: str) -> list[str]:
        done = run_mpiric("place", "--verify", "--limit", PATIENCE_S, "--json", *arguments, env=env)
        answer = json.loads(done.stdout or "{}")
        assert answer, done.stderr
        assert done.returncode == (ExitCode.MISPLACED if answer["findings"] else 0)
        ids = [finding["id"] for finding in answer["findings"]]
        return [entry for entry in ids if entry != "jobs-overlap"]  # others may be bound on this machine

    return finding_ids


def test_bound_ranks_are_found_to_be_fine(verify, spin):
    assert verify("--", "mpiexec.mpich", "-bind-to", "core", "-n", 2, spin, 1, OMP_NUM_THREADS="1") == []


def test_bind_to_none_is_caught(verify, spin):
    line = ("mpirun.openmpi", "--bind-to", "none", "-n", 2, spin, 1)
    assert "unbound-ranks" in verify("--", *line, OMP_NUM_THREADS="1")


def test_threads_stacked_on_the_core_of_their_rank_are_caught(verify, spin):
    line = ("mpirun.openmpi", "--bind-to", "core", "-n", 1, spin, 1)
    assert "threads-stacked" in verify("--", *line, OMP_NUM_THREADS="2")


def test_openmp_places_on_one_core_are_caught(verify, spin):
    first = min(os.sched_getaffinity(0))
    line = ("mpirun.openmpi", "--bind-to", "none", "-n", 1, spin, 1)
    wrong = {"OMP_NUM_THREADS": "2", "GOMP_CPU_AFFINITY": f"{first} {first}"}
    assert {"threads-stacked", "threads-on-one-core"} & set(verify("--", *line, **wrong))


def test_a_job_that_was_given_fewer_cores_than_it_has_ranks_is_caught(run_mpiric, spin):
    first = min(os.sched_getaffinity(0))
    line = ("taskset", "-c", first, "mpiexec.mpich", "-n", 2, spin, 1)
    done = run_mpiric(
        "place", "--verify", "--limit", PATIENCE_S, "--json", "--", *line, env={"OMP_NUM_THREADS": "1"}
    )
    assert "ranks-overlap" in [finding["id"] for finding in json.loads(done.stdout)["findings"]], done.stderr


def test_ranks_elsewhere_than_planned_are_caught(verify, spin):
    first, second = sorted(os.sched_getaffinity(0))[:2]
    crossed = ("mpiexec.mpich", "-bind-to", f"user:{second},{first}", "-n", 2, spin, 1)
    result = verify("--ranks", 2, "--policy", "compact", "--", *crossed, OMP_NUM_THREADS="1")
    assert result == ["not-as-planned"]


def with_finding(name: str, done: "subprocess.CompletedProcess[str]") -> dict[str, Any] | None:
    """Return the output of `ps` after it found this; None before."""
    answer = json.loads(done.stdout or "{}")
    return answer if name in [finding["id"] for finding in answer.get("findings", ())] else None


def test_ps_shows_two_jobs_on_the_same_core(run_mpiric, spin, environment, eventually):
    first = min(os.sched_getaffinity(0))
    line = ["mpiexec.mpich", "-bind-to", f"user:{first}", "-n", "1", spin, "600"]
    jobs = [subprocess.Popen(line, env={**environment, "OMP_NUM_THREADS": "1"}) for _ in range(2)]
    try:
        answer = eventually(lambda: with_finding("jobs-overlap", run_mpiric("ps", jobs[0].pid, "--json")))
    finally:
        for job in jobs:
            job.terminate()
        for job in jobs:
            job.wait()
    assert answer
    assert [process["cpus_allowed"] for process in answer["processes"]] == [[first]]


TOUCH = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define COUNT (25 << 20)
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    double *a = malloc(COUNT * sizeof *a), sum = 0;
    if (!strcmp(argv[1], "serial"))
        for (long i = 0; i < COUNT; ++i) a[i] = (double)i;
    else
#pragma omp parallel for schedule(static)
        for (long i = 0; i < COUNT; ++i) a[i] = (double)i;
    for (clock_t begin = clock(); clock() < begin + 3 * CLOCKS_PER_SEC;)
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (long i = 0; i < COUNT; ++i) sum += a[i];
    MPI_Finalize();
    return sum < 0;
}
"""


@pytest.mark.parametrize("way", ["serial", "parallel"])
def test_memory_that_one_thread_touched_for_all_is_found(verify, tmp_path, way):
    (tmp_path / "touch.c").write_text(TOUCH)
    command = ["mpicc.mpich", "-O1", "-fopenmp", "touch.c", "-o", "touch"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    line = ("mpiexec.mpich", "-n", 1, tmp_path / "touch", way)
    result = verify("--first-touch", "--", *line, OMP_NUM_THREADS="2", OMP_PROC_BIND="true")
    assert ("first-touch" in result) == (way == "serial")


def test_ps_says_when_a_process_is_not_there(run_mpiric):
    done = run_mpiric("ps", 2**22 + 1)
    assert done.returncode == ExitCode.NOT_FOUND
    assert "mpiric ps shows all jobs" in done.stderr


@pytest.fixture
def small_group(eventually) -> Iterator[Path]:
    """A control group with one core of this machine."""
    root = Path("/sys/fs/cgroup/cpuset")
    if os.geteuid() != 0 or not (root / "cpuset.cpus").exists():
        pytest.skip("needs root and the cpuset controller of cgroup version 1")
    group = root / f"mpiric-test-{os.getpid()}"
    group.mkdir()
    (group / "cpuset.cpus").write_text(str(min(os.sched_getaffinity(0))))
    (group / "cpuset.mems").write_text((root / "cpuset.mems").read_text())
    yield group
    eventually(lambda: not (group / "tasks").read_text())
    group.rmdir()


def test_ps_shows_a_control_group_smaller_than_the_job(
    run_mpiric, spin, environment, small_group, eventually
):
    script = f'echo $$ > {small_group}/tasks; exec mpiexec.mpich -n 2 "$0" 600'
    job = subprocess.Popen(["sh", "-c", script, spin], env={**environment, "OMP_NUM_THREADS": "1"})
    try:
        answer = eventually(lambda: with_finding("cgroup-too-small", run_mpiric("ps", job.pid, "--json")))
    finally:
        job.terminate()
        job.wait()
    assert answer["findings"][0]["id"] == "cgroup-too-small"
