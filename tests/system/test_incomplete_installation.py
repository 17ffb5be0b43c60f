"""Native parts that are gone or damaged: a sentence, and the program runs as it would have."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.recipe_text import recipe_text

ROOT = Path(__file__).parents[2]
PROGRAM = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, sum = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %d\\n", sum);
    MPI_Finalize();
    return 3;
}
"""
KINDS = {
    "gone": "libmpiric.so for the mpich ABI is not part of this installation",
    "cut": "libmpiric.so is not as it was built",
    "changed": "libmpiric.so is not as it was built",
}
Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.requires("mpi:mpich")


@pytest.fixture
def line(mpi_prefix: Callable[[str], Path], tmp_path: Path) -> list[str]:
    prefix = mpi_prefix("mpich")
    (tmp_path / "app.c").write_text(PROGRAM)
    subprocess.run([prefix / "bin/mpicc", "app.c", "-o", "app"], cwd=tmp_path, check=True)
    return [str(prefix / "bin/mpiexec"), "-n", "2", str(tmp_path / "app")]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


@pytest.fixture
def mpiric(kind: str, tmp_path: Path, environment: dict[str, str]) -> Run:
    """`mpiric ARGS…` of an installation of its own, whose library to preload is gone or no longer whole."""
    place = tmp_path / "installed"
    skipped = shutil.ignore_patterns(*(["_native"] if kind == "gone" else []))
    shutil.copytree(ROOT / "src/mpiric", place / "mpiric", ignore=skipped, copy_function=_link_or_copy)
    (tmp_path / "spec").symlink_to(ROOT / "spec")  # same location as in a checkout
    if kind != "gone":
        library = place / "mpiric/_native/mpich/libmpiric.so"
        complete = library.read_bytes()
        half, end = len(complete) // 2, None if kind == "changed" else len(complete) // 2
        library.unlink()  # it is the checkout's
        library.write_bytes(complete[:half] + b"changed" + complete[half + 7 : end])

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        variables = {**environment, "PYTHONPATH": str(place)}
        argv = [sys.executable, "-m", "mpiric", *map(str, arguments)]
        return subprocess.run(argv, env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=240)

    return run


def check_untouched(done: subprocess.CompletedProcess[str], kind: str) -> None:
    """Check output and status of the program, and the reason why it ran unchanged."""
    assert (done.returncode, done.stdout) == (3, "sum 2\n"), done.stderr
    assert KINDS[kind] in done.stderr
    assert "running the command as it is" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--policy-out", "learned.json"),
        ("--reproducible",),
        ("--honour-reorder",),
        ("--rank-order", "order"),
        ("--set", "collectives=online"),
    ],
    ids=lambda options: options[0],
)
def test_what_needs_the_runtime_leaves_the_command_as_it_is(options, kind, mpiric, line, tmp_path):
    (tmp_path / "order").write_text("1\n0\n")
    check_untouched(mpiric("run", *options, "--", *line), kind)


@pytest.mark.parametrize("is_named", [False, True], ids=["found", "named"])
def test_a_recipe_that_needs_the_runtime_leaves_the_command_as_it_is(is_named, kind, mpiric, line, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    version = Path(line[0]).parents[1].name.partition("-")[2]
    text = recipe_text("app", "hydra", "mpich", version, "mpich standard")
    (store / "app.recipe.toml").write_text(text.replace('binding = "core"', 'collectives = "online"'))
    which = ("--recipe", store / "app.recipe.toml") if is_named else ("--store", store)
    # A recipe that does not fit counts as none, and `--as-is` then leaves out the safe defaults.
    as_is = () if is_named else ("--as-is",)
    check_untouched(mpiric("run", *as_is, *which, "--", *line), kind)


def test_what_needs_no_runtime_is_set(kind, mpiric, line):
    done = mpiric("run", "--set", "binding=core", "--dry-run", "--", *line)
    assert "-bind-to core" in done.stdout


def test_a_profile_runs_the_program_and_says_why_nothing_was_recorded(kind, mpiric, line, tmp_path):
    done = mpiric("profile", "-o", tmp_path / "p", "--", *line)
    assert (done.returncode, done.stdout) == (3, "sum 2\n"), done.stderr
    assert "nothing was recorded: " in done.stderr
    assert KINDS[kind] in done.stderr
    assert "hint: " in done.stderr


def test_doctor_runs_the_program_and_names_parts_that_are_not_as_built(kind, mpiric, line):
    done = mpiric("doctor", "--json", "--", *line)
    assert done.returncode == 3, done.stderr
    answer = json.loads(done.stdout)
    assert not answer["recorded"]
    assert ("native-altered" in [entry["id"] for entry in answer["findings"]]) == (kind != "gone")
