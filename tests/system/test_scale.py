"""`mpiric scale` with real programs of one and two ranks."""

import csv
import json
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "runtime_programs"
EXAMPLES = Path(__file__).parents[2] / "examples"
ENDLESS = "2000000000"  # steps: only runs that end at a step marker come to an end
pytestmark = pytest.mark.newest_only


@pytest.fixture
def built(mpi, environment, tmp_path):
    """Return `built(SOURCE)`: the program, built for the library."""
    if "c" not in mpi.compilers:
        pytest.skip("no C compiler of this library")

    def build(source):
        program = tmp_path / source.stem
        line = [mpi.compilers["c"], "-O1", "-pthread", str(source), "-o", str(program), "-lm"]
        subprocess.run(line, check=True, env={**environment, **mpi.environment})
        return program

    return build


def scaled(run_mpiric, mpi, program, *arguments, options=()):
    line = [mpi.launcher, "-n", "2", program, *arguments]
    done = run_mpiric("scale", "--json", "--ranks", "1,2", *options, "--", *line, env=mpi.environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_step_marker_of_two_ranks_counts_the_steps_of_one(mpi, built, run_mpiric):
    program = built(PROGRAMS / "steps.c")
    answer = scaled(
        run_mpiric, mpi, program, ENDLESS, "copy", options=["--budget", "100s", "--mark", "allreduce"]
    )
    assert answer["unit"] == "step"
    assert [size["ranks"] for size in answer["sizes"]] == [1, 2], answer["notes"]


def test_whole_runs_of_a_solver(mpi, built, run_mpiric, tmp_path):
    program = built(EXAMPLES / "heat3d/heat3d.c")
    table = tmp_path / "sizes.csv"
    recipe = tmp_path / "size.toml"
    options = ["--to-the-end", "--budget", "60s", "--csv", table, "--proposal", tmp_path / "proposal"]
    options += ["--output", recipe, "--efficiency", "0.01"]
    answer = scaled(run_mpiric, mpi, program, "48", "20", options=options)
    assert answer["unit"] == "run"
    assert [factor["size"]["ranks"] for factor in answer["factors"]] == [1, 2]
    assert [row["ranks"] for row in csv.DictReader(table.read_text().splitlines())] == ["1", "2"]
    written = sorted(path.name for path in (tmp_path / "proposal").iterdir())
    assert written == ["scaling.md", "scaling.pdf", "scaling.svg"]
    (size,) = (choice["size"] for choice in answer["recommended"][-1:])
    line = [mpi.launcher, "-n", "2", program, "48", "20"]
    done = run_mpiric("run", "--dry-run", "--recipe", recipe, "--", *line, env=mpi.environment)
    assert f" {size['ranks']} " in done.stdout, done.stderr
