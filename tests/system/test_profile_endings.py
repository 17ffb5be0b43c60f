"""`mpiric profile` of runs whose ranks cannot merge their data, and of programs with input."""

import json
import subprocess
from pathlib import Path

import pytest

from mpiric.model.errors import ExitCode
from mpiric.tuning.store import Lock

PROGRAMS = Path(__file__).parent / "runtime_programs"


def built(source: str, compiler: str, tmp_path: Path, *options: str) -> Path:
    program = tmp_path / Path(source).stem
    subprocess.run([compiler, *options, str(PROGRAMS / source), "-o", str(program)], check=True, timeout=120)
    return program


@pytest.mark.requires("debian-mpich")
def test_a_program_of_sessions_leaves_one_file(run_mpiric, tmp_path):
    program = built("sessions.c", "mpicc.mpich", tmp_path)
    done = run_mpiric("profile", "--json", "-o", tmp_path / "p", "--", "mpiexec.mpich", "-n", "3", program)
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(done.stdout)["p2p"]) == [[0, 1, 1, 4], [1, 2, 1, 4], [2, 0, 1, 4]]
    assert [path.name for path in (tmp_path / "p").glob("*") if "report" not in path.name] == [
        "record.mpiric"
    ]


@pytest.mark.requires("debian-mpich")
def test_a_rank_that_is_killed_is_merged_too(run_mpiric, tmp_path):
    program = built("killed.c", "mpicc.mpich", tmp_path)
    done = run_mpiric("profile", "--json", "-o", tmp_path / "p", "--", "mpiexec.mpich", "-n", "1", program)
    assert done.returncode != 0
    calls = {use["name"]: use["calls"] for use in json.loads(done.stdout)["functions"]}
    assert calls["MPI_Allreduce"] == 50
    assert (tmp_path / "p/record.mpiric").is_file()


@pytest.mark.requires("debian-mpich", "addr2line")
def test_call_sites_have_names_and_lines(run_mpiric, tmp_path):
    program = built("ring.c", "mpicc.mpich", tmp_path, "-g")
    line = 1 + next(
        at for at, text in enumerate((PROGRAMS / "ring.c").read_text().splitlines()) if "MPI_Send(" in text
    )
    profile = ("profile", "--json", "--call-sites", "-o", tmp_path / "p")
    done = run_mpiric(*profile, "--", "mpiexec.mpich", "-n", "3", program)
    assert done.returncode == 0, done.stderr
    (site,) = [use for use in json.loads(done.stdout)["sites"] if use["function"] == "MPI_Send"]
    assert site["place"] == f"main (ring.c:{line})"
    assert site["calls"] == 30


@pytest.mark.parametrize(
    "stack", [pytest.param(mpi, marks=pytest.mark.requires(f"debian-{mpi}")) for mpi in ("mpich", "openmpi")]
)
def test_standard_input_reaches_the_program_unchanged(run_mpiric, tmp_path, stack):
    launch = {"mpich": ("mpiexec.mpich",), "openmpi": ("mpirun.openmpi", "--oversubscribe")}[stack]
    program = built("reads.c", f"mpicc.{stack}", tmp_path)
    # Hydra itself fails if more input is waiting than fits into a pipe.
    text = "".join(f"line {at}\n" for at in range(4_000))
    done = run_mpiric("profile", "-o", tmp_path / "p", "--", *launch, "-n", "2", program, input=text)
    assert done.returncode == 0, done.stderr
    assert f"read {len(text)} bytes" in done.stdout


@pytest.mark.requires("debian-mpich")
def test_a_directory_that_another_profile_writes_to_is_left_alone(run_mpiric, tmp_path):
    """A second profile would remove the files of the ranks of the first."""
    program = built("ring.c", "mpicc.mpich", tmp_path)
    profile = ("profile", "-q", "-o", tmp_path / "p", "--", "mpiexec.mpich", "-n", "1", program)
    (tmp_path / "p").mkdir()
    other = Lock.take(tmp_path / "p/.profiling")
    refused = run_mpiric(*profile)
    assert (refused.returncode, refused.stdout) == (ExitCode.USAGE, "")
    assert "another mpiric works on" in refused.stderr
    other.release()
    done = run_mpiric(*profile)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "p").iterdir() if "report" not in path.name] == [
        "record.mpiric"
    ]


@pytest.mark.requires("debian-mpich")
def test_a_static_program_runs_and_is_told_why_nothing_was_recorded(run_mpiric, tmp_path):
    (tmp_path / "hello.c").write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    subprocess.run(["gcc", "-static", "hello.c", "-o", "hello"], cwd=tmp_path, check=True, timeout=120)
    done = run_mpiric("profile", "-o", tmp_path / "p", "--", "mpiexec.mpich", "-n", "1", tmp_path / "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "linked statically" in done.stderr
