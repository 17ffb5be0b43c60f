"""Real launchers: ranks are seen, and neither processes nor files stay behind when one is killed."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from mpiric.host.processes.proc import all_pids, read_bytes
from mpiric.model.run import Outcome

# A rank without a compiler: Python maps the MPI library and initialises it.
RANK = """
import ctypes, os, sys, time
from pathlib import Path
mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
open(f"rank.{os.getpid()}", "w").close()
while not Path("seen").exists(): time.sleep(0.05)
mpi.MPI_Finalize()
"""


@pytest.fixture
def launch(bench, mpi):
    """Runs two ranks that wait for the file `seen`, with a TMPDIR that shows what is left in it."""
    (bench.path / "rank.py").write_text(RANK)
    (bench.path / "tmp").mkdir()
    inherited = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    paths = [part for part in (*mpi.library_path, *inherited) if part]
    bench.environment.update(mpi.environment)
    bench.environment.update({"LD_LIBRARY_PATH": ":".join(paths)} if paths else {})
    bench.environment["TMPDIR"] = str(bench.path / "tmp")

    def run(*, before=(), program=(sys.executable, "rank.py"), **options):
        return bench.run(*before, mpi.launcher, "-n", "2", *program, mpi.library, **options)

    return run


@pytest.fixture
def observed(bench, launch):
    """An execution, ended once both ranks were seen from outside with the MPI library mapped."""

    def look(ranks):
        if len(ranks) == 2 and all(any("libmpi" in path for path in rank.libraries) for rank in ranks):
            (bench.path / "seen").touch()

    return lambda **options: launch(on_sample=look, limit_s=240, **options)


def started(bench) -> list[int]:
    pids = [int(path.suffix[1:]) for path in bench.path.glob("rank.*") if path.suffix[1:].isdigit()]
    return pids if len(pids) == 2 else []


def in_background(run, *arguments, **options):
    results = {}
    thread = threading.Thread(target=lambda: results.update(end=run(*arguments, **options)))
    thread.start()
    return thread, results


def test_each_rank_is_seen_once(observed):
    execution = observed()
    assert execution.reason == ""
    assert [rank.rank for rank in execution.ranks] == [0, 1]


def test_a_rank_is_the_program_that_maps_the_mpi_library(bench, observed, mpi):
    (bench.path / "run.sh").write_text('#!/bin/sh\npython="$1"; shift\n"$python" rank.py "$@"\n')
    program = ("sh", "run.sh", sys.executable)
    execution = observed(program=program)
    python = str(Path(sys.executable).resolve())
    assert [rank.program for rank in execution.ranks] == [python, python]
    assert all(any(mpi.soname.split(".so")[0] in path for path in rank.libraries) for rank in execution.ranks)


def test_ranks_are_seen_through_a_script_that_calls_the_launcher(bench, observed):
    (bench.path / "job.sh").write_text('#!/bin/sh\n"$@"\n:\n')
    execution = observed(before=("sh", "job.sh"))
    assert [rank.rank for rank in execution.ranks] == [0, 1]


def test_a_time_out_leaves_neither_processes_nor_files(bench, launch, eventually):
    before = set(_segments())
    execution = launch(limit_s=3)
    assert execution.outcome is Outcome.TIMED_OUT
    assert bench.alive() == []
    assert _files(bench.path / "tmp") == []
    assert eventually(lambda: not _own_segments(before))


def test_a_killed_rank_ends_the_launch_with_a_status(bench, launch, eventually):
    thread, results = in_background(launch, limit_s=240)
    pids = eventually(lambda: started(bench))
    os.kill(pids[0], signal.SIGKILL)
    thread.join(270)
    assert results["end"].outcome is Outcome.FAILED
    assert bench.alive() == []


def test_a_killed_launcher_leaves_no_rank_and_no_file(bench, launch, eventually):
    before = set(_segments())
    thread, results = in_background(launch, limit_s=240)
    assert eventually(lambda: started(bench))
    keeper = bench.runner._keeper.pid
    (child,) = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    thread.join(270)
    assert results["end"].exit_status == -signal.SIGKILL
    assert bench.alive() == []
    assert _files(bench.path / "tmp") == []
    assert eventually(lambda: not _own_segments(before))


def test_a_killed_keeper_leaves_no_rank(bench, launch, eventually):
    thread, results = in_background(launch, limit_s=240)
    assert eventually(lambda: started(bench))
    os.kill(bench.runner._keeper.pid, signal.SIGKILL)
    thread.join(270)
    assert results["end"].outcome is Outcome.FAILED
    assert bench.alive() == []


def _files(directory: Path) -> list[str]:
    """Files below a directory; empty session directories of the launchers hold nothing back."""
    return sorted(str(path) for path in directory.rglob("*") if not path.is_dir())


def _own_segments(before: set[str]) -> list[str]:
    """New shared memory with a name that MPI libraries use and that nobody maps.

    Other tests may make and remove their own meanwhile.
    """
    stems = ("vader_segment", "sm_segment", "osc_rdma")
    new = [name for name in set(_segments()) - before if name.startswith(stems)]
    mapped = b"".join(read_bytes(f"/proc/{pid}/maps") for pid in all_pids())
    return sorted(name for name in new if name.encode() not in mapped)


def _segments() -> list[str]:
    return [path.name for path in Path("/dev/shm").iterdir()]
