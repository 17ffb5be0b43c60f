"""Two jobs on one node: the second one is started on the CPUs that the first one leaves free."""

import os
import subprocess

import pytest

SHOW = "grep Cpus_allowed_list /proc/self/status"


@pytest.fixture
def neighbour(eventually, run_mpiric):
    """A job that is bound to the first CPU."""
    first = min(os.sched_getaffinity(0))
    line = ["mpiexec.mpich", "-bind-to", f"user:{first}", "-n", "1", "sleep", "600"]
    with subprocess.Popen(line) as job:
        try:
            eventually(lambda: "sleep" in run_mpiric("ps", job.pid).stdout)
            yield first
        finally:
            job.terminate()


@pytest.mark.requires("debian-mpich", "debian-openmpi")
@pytest.mark.parametrize("launcher", ["mpiexec.mpich", "mpirun.openmpi"])
def test_ranks_run_on_the_free_cpus(run_mpiric, neighbour, launcher, eventually):
    line = (launcher, "-n", 1, "sh", "-c", SHOW)

    def started():
        """Run once no other test has bound a job to the CPUs that are left."""
        finished = run_mpiric("run", "--set", "binding=free", "--", *line)
        return None if "bound to all CPUs" in finished.stderr else finished

    done = eventually(started)
    assert done.returncode == 0, done.stderr
    allowed = {int(cpu) for cpu in done.stdout.split()[-1].replace("-", ",").split(",")}
    assert neighbour not in allowed


@pytest.mark.requires("debian-mpich", "debian-openmpi")
def test_run_says_that_another_job_has_the_cpus(run_mpiric, neighbour):
    done = run_mpiric("run", "--", "mpirun.openmpi", "--bind-to", "core", "-n", 1, "true")
    assert done.returncode == 0
    assert ") is bound to the CPUs" in done.stderr
    assert "and this launch binds its ranks" in done.stderr


@pytest.mark.requires("debian-mpich", "debian-openmpi")
def test_unbound_ranks_need_no_advice(run_mpiric, neighbour):
    done = run_mpiric("run", "--", "mpiexec.mpich", "-n", 1, "true")
    assert "is bound to the CPUs" not in done.stderr
