"""Processes of this node as they are read from /proc."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.machine.running_ranks import memory_pages, see_jobs, see_process
from mpiric.workflows.placement.verify import look

NUMA_MAPS = """\
55d0c0000000 default file=/usr/bin/app mapped=4 N0=4 kernelpagesize_kB=4
55d0c1000000 default heap anon=300 dirty=300 N0=100 N1=200 kernelpagesize_kB=4
7f0000000000 default anon=2 dirty=2 N1=2 kernelpagesize_kB=2048
7ffc00000000 default stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4
"""


@contextmanager
def sleeper_with(variables: Mapping[str, str]) -> Iterator[int]:
    """A process with these variables; just after its start the kernel shows none."""
    with subprocess.Popen(["sleep", "60"], env={**os.environ, **variables}) as sleeper:
        try:
            environment = Path(f"/proc/{sleeper.pid}/environ")
            while not environment.read_bytes():
                time.sleep(0.01)
            yield sleeper.pid
        finally:
            sleeper.kill()


def test_memory_is_counted_by_numa_node_in_small_pages_without_files():
    assert memory_pages(NUMA_MAPS) == {0: 103, 1: 200 + 2 * 512}


def test_a_process_is_seen_with_the_affinity_of_each_thread():
    process = see_process(LocalHost(), os.getpid())
    assert set(process.cpus_allowed) == os.sched_getaffinity(0)
    assert process.pid in [thread.thread for thread in process.threads]
    assert all(thread.cpu_now >= 0 for thread in process.threads)


def test_an_ended_process_is_not_listed():
    assert see_process(LocalHost(), 2**22 + 1) is None


def test_environments_of_other_users_are_printed_without_control_characters():
    hostile = {"OMP_NUM_THREADS": "²", "PMI_RANK": "9" * 5000, "OMP_PLACES": "\x1b]0;owned\x07{0}"}
    with sleeper_with(hostile) as pid:
        process = see_process(LocalHost(), pid)
        see_jobs(LocalHost())
    assert (process.rank, process.omp_threads, process.places) == (None, 0, r"\x1b]0;owned\x07{0}")


@pytest.mark.parametrize(("variable", "suffix"), [("SLURM_JOB_ID", ""), ("PBS_JOBID", ".server")])
def test_the_scheduler_names_a_job_whoever_launched_it(variable, suffix):
    job = str(2**22 + os.getpid())  # not used by tests that run at the same time
    inside = {variable: job + suffix, "PMI_RANK": "0", "PMIX_NAMESPACE": f"prterun-{job}{suffix}@1"}
    with sleeper_with(inside) as pid:
        chosen = look(LocalHost(), job, "/").processes
    assert [process.pid for process in chosen] == [pid]
