"""A launcher of one MPI and a program of another start lone ranks: told before and after."""

import subprocess

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.stand_ins import stand_ins
from mpiric.model.errors import ExitCode
from mpiric.mpis import find_mpis

pytestmark = pytest.mark.requires("debian-openmpi", "debian-mpich")
SIZE = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("one of %d\\n", size);
    MPI_Finalize();
    return 0;
}
"""
MISMATCHES = [
    ("mpirun.openmpi", "mpicc.mpich", "mpich"),
    pytest.param("mpiexec.mpich", "mpicc.openmpi", "openmpi", marks=pytest.mark.sweep),
]


@pytest.fixture
def program(tmp_path):
    def compiled(compiler):
        (tmp_path / "size.c").write_text(SIZE)
        command = [compiler, "size.c", "-o", "size"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        return str(tmp_path / "size")

    return compiled


@pytest.mark.parametrize(("launcher", "compiler", "family"), MISMATCHES)
def test_a_launcher_of_another_mpi_starts_lone_ranks_and_mpiric_says_so(
    program, run_mpiric, environment, launcher, compiler, family
):
    line = [launcher, "-n", "2", program(compiler)]
    alone = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)
    assert alone.stdout.splitlines() == ["one of 1", "one of 1"]  # the damage without mpiric

    for verb in (("run", "--no-recipe"), ("fabric",)):
        done = run_mpiric(*verb, "--", *line)
        assert done.returncode == ExitCode.MISMATCH, verb
        assert "each rank would run alone, as rank 0 of 1" in done.stderr
        assert f"of the {family} family" in done.stderr
        assert "hint: start it with " in done.stderr


def test_the_launcher_that_the_hint_names_starts_one_job(program, run_mpiric):
    exe = program("mpicc.mpich")
    refused = run_mpiric("run", "--no-recipe", "--", "mpirun.openmpi", "-n", 2, exe)
    launcher = refused.stderr.partition("hint: start it with ")[2].split()[0]
    done = run_mpiric("run", "--no-recipe", "--", launcher, "-n", 2, exe)
    assert done.stdout.splitlines() == ["one of 2", "one of 2"]


@pytest.mark.skipif(not stand_ins(), reason="no stand-ins are built")
@pytest.mark.parametrize(("launcher", "compiler", "family"), MISMATCHES)
def test_where_a_library_is_named_any_launcher_may_stand_in_the_line(
    program, run_mpiric, launcher, compiler, family
):
    exe = program(compiler)
    expected = run_mpiric("run", "--no-recipe", "--", launcher, "-n", 2, exe)
    translated_by = expected.stderr.partition("mpiric run --mpi ")[2].split()[0]
    for label in (translated_by, family):
        mpis = [mpi.label for mpi in find_mpis(LocalHost()) if mpi.label.startswith(label)]
        done = run_mpiric("run", "--quiet", "--mpi", mpis[0], "--", launcher, "-n", 2, exe)
        assert done.stdout.splitlines() == ["one of 2", "one of 2"], done.stderr


def test_a_library_that_only_shows_in_the_run_is_told_too(program, run_mpiric, tmp_path):
    """The command names a shell script: programs that it starts are observed while they run."""
    exe = program("mpicc.mpich")
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\n{exe}\nsleep 1\n")
    script.chmod(0o755)
    source = (tmp_path / "size.c").read_text().replace("MPI_Finalize", "sleep(1); MPI_Finalize")
    (tmp_path / "size.c").write_text("#include <unistd.h>\n" + source)
    subprocess.run(["mpicc.mpich", "size.c", "-o", "size"], cwd=tmp_path, check=True, capture_output=True)
    done = run_mpiric("tune", "--max-runs", 4, "--", "mpirun.openmpi", "-n", 2, script)
    assert done.returncode == ExitCode.MISMATCH
    assert "each rank would run alone" in done.stderr
