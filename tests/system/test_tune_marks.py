"""A program that runs for hours, tuned in seconds by runs that end at a mark, under a real MPI."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis
from mpiric.tuning.store.events import read_log

PROGRAM = Path(__file__).parent / "programs/steps.c"
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


@pytest.fixture(scope="module")
def mpich() -> MpiLibrary:
    return next(mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith("mpich-5"))


@pytest.fixture
def tuned(mpich: MpiLibrary, tmp_path: Path):
    """Tunes the program for so many seconds, of which a fortieth is all that a run may take by itself."""

    def tune(*words: str, seconds: int, runs: int, only: str = "binding") -> dict[str, Any]:
        program = tmp_path / "steps"
        subprocess.run([mpich.compilers["c"], str(PROGRAM), "-o", str(program)], check=True)
        options = ["--json", "--try-all", "--only", only, "--max-runs", str(runs), "--budget", f"{seconds}s"]
        line = [mpich.launcher, "-n", "2", str(program), *words]
        place = tmp_path / "work"
        place.mkdir()
        options += ["--store", str(tmp_path / "store"), "--", *line]
        done = subprocess.run(
            [sys.executable, "-m", "mpiric", "tune", *options],
            cwd=place,
            env={**os.environ, "MPIRIC_TEST_TAG": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        return json.loads(done.stdout)

    return tune


def test_hours_of_steps_are_compared_at_a_mark_and_nothing_is_left(tuned, tmp_path):
    found = tuned(seconds=60, runs=9)
    assert (found["scope"], found["marks_why"]) == ("steps", None)
    assert found["marks"]["function"] == "MPI_Allreduce"
    assert found["marks"]["place"].startswith("steps+0x")
    assert found["stopped_trials"] == found["runs"] <= 9
    assert found["rejected"] == []
    (log,) = (tmp_path / "store").glob("*/events.jsonl")
    at_mark = [trial for trial in read_log(log).trials if trial.split is not None]
    assert len(at_mark) >= 4  # three of the command as it is, and what fitted into the time
    # A step takes 2 ms at the least, whatever else the machine does.
    assert all(trial.split.per_mark_s > 0.002 for trial in at_mark)
    assert list((tmp_path / "work").iterdir()) == []
    left = [path for path in Path("/proc").glob("[0-9]*/environ") if carries(path, str(tmp_path))]
    assert left == []


def test_the_second_run_of_a_pair_is_stopped_between_its_marks(tuned, tmp_path):
    found = tuned("MALLOC_MMAP_MAX_", seconds=60, runs=14, only="malloc")
    assert found["scope"] == "steps"
    assert found["rejected"] == []
    (log,) = (tmp_path / "store").glob("*/events.jsonl")
    stopped = [trial for trial in read_log(log).trials if trial.at_least is not None]
    assert stopped
    for trial in stopped:
        assert not trial.configuration
        assert trial.split.per_mark_s == trial.at_least > 2 * 0.002
        assert 0 < trial.split.start_from_s <= trial.split.start_s
    assert found["stopped_trials"] == found["runs"]


def carries(environ: Path, tag: str) -> bool:
    try:
        return f"MPIRIC_TEST_TAG={tag}".encode() in environ.read_bytes()
    except OSError:
        return False
