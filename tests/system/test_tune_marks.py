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
from mpiric.model.run import Outcome, Phase
from mpiric.mpis import find_mpis
from mpiric.profile.read import read_record
from mpiric.tuning.events import read_log

PROGRAMS = Path(__file__).parent / "programs"
ARCHIVES = "-lmpich -Wl,--whole-archive -lucp -luct -lucs -lucm -Wl,--no-whole-archive -lhwloc -lnuma -lz -lm"
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


@pytest.fixture(scope="module")
def mpich() -> MpiLibrary:
    return next(mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith("mpich-5"))


@pytest.fixture
def tuned(mpich: MpiLibrary, tmp_path: Path):
    """Tune steps.c or `line` for some seconds; a run may take a fortieth of them."""

    def tune(
        *arguments: str, seconds: int, runs: int, only: str = "binding", line: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        program = tmp_path / "steps"
        subprocess.run([mpich.compilers["c"], str(PROGRAMS / "steps.c"), "-o", str(program)], check=True)
        options = ["--json", "--try-all", "--only", only, "--max-runs", str(runs), "--budget", f"{seconds}s"]
        line = line or (mpich.launcher, "-n", "2", str(program), *arguments)
        place = tmp_path / "work"
        place.mkdir(exist_ok=True)
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
    result = tuned(seconds=60, runs=9)
    assert (result["scope"], result["marks_why"]) == ("steps", None)
    assert result["marks"]["function"] == "MPI_Allreduce"
    assert result["marks"]["place"].startswith("steps+0x")
    assert result["stopped_trials"] == result["runs"] <= 9
    assert result["rejected"] == []
    (log,) = (tmp_path / "store").glob("*/events.jsonl")
    at_mark = [trial for trial in read_log(log).trials if trial.split is not None]
    assert len(at_mark) >= 4  # three of the original command, and as many as fitted into the time
    # A step takes 2 ms at the least, whatever else the machine does.
    assert all(trial.split.per_mark_s > 0.002 for trial in at_mark)
    (ended_early,) = (log.parent / "records").glob("steps-*")
    assert all("allocator.us" in rank.facts for rank in read_record(ended_early).ranks)
    assert list((tmp_path / "work").iterdir()) == []
    remaining = [path for path in Path("/proc").glob("[0-9]*/environ") if carries(path, str(tmp_path))]
    assert remaining == []


def test_the_second_run_of_a_pair_is_stopped_between_its_marks(tuned, tmp_path):
    result = tuned("MALLOC_MMAP_MAX_", seconds=60, runs=14, only="malloc")
    assert result["scope"] == "steps"
    # A setting without the variable takes thirty times as long: the search stops it, and nothing else.
    assert all("clearly slower" in entry["reason"] for entry in result["rejected"])
    (log,) = (tmp_path / "store").glob("*/events.jsonl")
    proof = read_log(log).trials_of(Phase.PROOF)
    stopped = [trial for trial in proof if trial.at_least is not None]
    assert stopped
    for trial in stopped:
        assert not trial.configuration
        assert trial.split.per_mark_s == trial.at_least > 2 * 0.002
        assert 0 < trial.split.start_from_s <= trial.split.start_s
    assert result["stopped_trials"] == result["runs"]


def test_what_a_program_sends_unset_is_not_held_against_an_allocator(mpich, tuned, tmp_path):
    program = tmp_path / "unset_rows"
    subprocess.run([mpich.compilers["c"], str(PROGRAMS / "unset_rows.c"), "-o", str(program)], check=True)
    result = tuned(seconds=60, runs=10, only="malloc", line=(mpich.launcher, "-n", "2", str(program)))
    assert result["scope"] == "steps"
    assert result["rejected"] == []
    (log,) = (tmp_path / "store").glob("*/events.jsonl")
    # Rejected at first, until the original, run again on memory that is not zero, sends something else too.
    events = [json.loads(line) for line in log.read_text().splitlines()]
    doubted = [event for event in events if event.get("outcome") == Outcome.DIFFERENT.value]
    assert doubted
    assert all("messages of MPI_Sendrecv" in event["reason"] for event in doubted)
    outcomes = {trial.number: trial.outcome for trial in read_log(log).trials}
    assert {outcomes[event["number"]] for event in doubted} == {Outcome.OK}


@pytest.mark.sweep
@pytest.mark.requires("debian-mpich")
def test_a_static_program_is_counted_by_its_lines_or_runs_whole(tuned, tmp_path):
    """No library can be preloaded into its ranks, which are linked statically to MPICH."""
    program = tmp_path / "printed_steps"
    command = ["mpicc.mpich", "-static", str(PROGRAMS / "printed_steps.c"), "-o", str(program)]
    subprocess.run([*command, "-Wl,--start-group", *ARCHIVES.split(), "-Wl,--end-group"], check=True)
    line = ("mpiexec.mpich", "-n", "2", str(program))
    result = tuned(seconds=60, runs=7, line=(*line, "2000000"))
    assert (result["scope"], result["marks_why"]) == ("steps", None)
    assert (result["marks"]["function"], result["marks"]["communicator"]) == ("stdout", None)
    assert result["marks"]["place"].startswith(r"^\s*step\s+")
    assert result["stopped_trials"] == result["runs"]
    assert result["rejected"] == []
    complete = tuned(seconds=40, runs=5, line=(*line, "1000", "quiet"))
    assert (complete["scope"], complete["marks"]) == ("whole run", None)
    assert "statically linked" in complete["marks_why"]
    assert complete["marks_why"].endswith("no line is printed at regular intervals")


def carries(environ: Path, tag: str) -> bool:
    try:
        return f"MPIRIC_TEST_TAG={tag}".encode() in environ.read_bytes()
    except OSError:
        return False
