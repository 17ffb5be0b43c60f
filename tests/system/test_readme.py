"""The README's own example, typed as it is printed, in a checkout where `make demo` has built its program."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def block_after(command):
    """Return the lines of the first block of commands after ``words`` in the README."""
    return (ROOT / "README.md").read_text().partition(command)[2].split("```\n")[1]


@pytest.mark.requires("mpi:mpich", "gcc")
def test_the_example_by_hand_works_as_it_is_printed(environment, mpi_prefix, tmp_path):
    demo = tmp_path / "build/demo"
    demo.mkdir(parents=True)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    compile_ = [mpi_prefix("mpich") / "bin/mpicc", "-O2", ROOT / "examples/heat3d/heat3d.c", "-lm"]
    subprocess.run([*compile_, "-o", demo / "heat3d"], check=True)
    typed = block_after("The same by hand").replace("mpiric tune --budget 100s", "mpiric tune --dry-run")
    assert "tune --dry-run" in typed
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", typed],
        cwd=tmp_path,
        env={**environment, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "as it is: mpiexec -n 2 ./heat3d" in done.stdout
    assert "no recipe" in done.stderr


@pytest.mark.requires("mpi:mpich", "gcc")
def test_a_dry_run_warns_as_the_run_does(run_mpiric, mpi_prefix, tmp_path):
    prefix = mpi_prefix("mpich")
    program = tmp_path / "heat3d"
    source = ROOT / "examples/heat3d/heat3d.c"
    subprocess.run([prefix / "bin/mpicc", "-O2", source, "-lm", "-o", program], check=True)
    command = ("--store", tmp_path / "s", "--", prefix / "bin/mpiexec", "-n", 2, program, 16, 1)
    dry, run = run_mpiric("run", "--dry-run", *command), run_mpiric("run", *command)
    assert dry.stderr == run.stderr
    assert "applying the safe defaults of this machine" in dry.stderr
    assert str(program) in dry.stdout
