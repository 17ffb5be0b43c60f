"""Packs that are moved away from their build directory and started by launchers of other MPI libraries."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.recipe_text import recipe_text

from mpiric.model.errors import ExitCode

HERE = Path(__file__).parent
LIBRARY = "int twice(int x) { return 2 * x; }\n"
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int twice(int);
int main(int count, char** words) {
    int rank, sum, mine;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mine = twice(rank + 1);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %d of %s\\n", sum, words[1]);
    const char* trim = getenv("MALLOC_TRIM_THRESHOLD_");
    if (rank == 0 && trim) printf("trim %s\\n", trim);
    MPI_Finalize();
    return count == 3 ? atoi(words[2]) : 0;
}
"""
RANKS = ("--oversubscribe", "-n", "2")
pytestmark = pytest.mark.requires("mpirun.openmpi", "mpicc.openmpi", "gcc", "flock")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """Program with a library that its RPATH finds."""
    build = tmp_path / "build"
    build.mkdir()
    (build / "twice.c").write_text(LIBRARY)
    (build / "app.c").write_text(PROGRAM)
    for arguments in (
        ("gcc", "-shared", "-fPIC", "twice.c", "-o", "libtwice.so.1.2", "-Wl,-soname,libtwice.so.1"),
        ("ln", "-s", "libtwice.so.1.2", "libtwice.so.1"),
        ("mpicc.openmpi", "app.c", "./libtwice.so.1", "-o", "app", f"-Wl,--disable-new-dtags,-rpath,{build}"),
    ):
        subprocess.run(arguments, cwd=build, check=True)
    return build / "app"


@pytest.fixture
def start(environment, tmp_path):
    """`start(pack, "a")` under Debian's Open MPI, in a directory of its own."""

    def run(pack: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        environment_of_run = {**environment, "TMPDIR": str(tmp_path), **variables}
        line = ["mpirun.openmpi", *RANKS, str(pack), *map(str, arguments)]
        return subprocess.run(line, env=environment_of_run, capture_output=True, text=True, timeout=60)

    return run


@pytest.fixture
def packed(run_mpiric, app, tmp_path):
    """`packed("--format", "tar")`: the file, when all that it was made of is gone, and its JSON."""

    def make(*options: object) -> tuple[Path, dict]:
        target = tmp_path / "another site" / "app.pack"
        target.parent.mkdir()
        line = ("mpirun.openmpi", *RANKS, app, "a")
        done = run_mpiric("pack", "--json", "-o", target, *options, "--", *line)
        assert done.returncode == 0, done.stderr
        shutil.rmtree(app.parent)
        return target, json.loads(done.stdout)

    return make


def left_behind(directory: Path) -> list[str]:
    """Return the images of packs that are still mounted or unpacked."""
    mounts = Path("/proc/mounts").read_text()
    unpacked = [str(path) for path in directory.glob("mpiric-pack-*/*/*/image/*")]
    return [line for line in mounts.splitlines() if str(directory) in line] + unpacked


@pytest.mark.parametrize(
    "image_format",
    [pytest.param("squashfs", marks=pytest.mark.requires("mksquashfs", "squashfuse", "fuse")), "tar"],
)
def test_a_packed_program_runs_where_nothing_of_it_is_installed(packed, start, tmp_path, image_format):
    pack, described = packed("--format", image_format)
    done = start(pack, "b", 3)
    assert (done.stdout, done.returncode) == ("sum 6 of b\n", 3), done.stderr
    assert described["file"] == str(pack)
    assert {"lib/libtwice.so.1", "lib/libtwice.so.1.2"} <= {entry["name"] for entry in described["contains"]}
    remaining = {Path(entry["path"]).name: entry["why"] for entry in described["left_out"]}
    assert "MPI" in remaining["libmpi.so.40"]
    assert "C library" in remaining["libc.so.6"]
    for _ in range(50):
        if not left_behind(tmp_path):
            break
        subprocess.run(["sleep", "0.1"])
    assert left_behind(tmp_path) == []


@pytest.mark.requires("mksquashfs", "unsquashfs")
def test_a_node_without_fuse_unpacks_the_image(packed, start):
    pack, _ = packed("--format", "squashfs")
    done = start(pack, "b", MPIRIC_PACK_MOUNT="no")
    assert done.stdout == "sum 6 of b\n", done.stderr


def test_a_target_that_is_too_old_names_the_symbol(run_mpiric, app):
    line = ("mpirun.openmpi", *RANKS, app, "a")
    done = run_mpiric("pack", "--glibc", "2.17", "--", *line)
    if done.returncode == 0:
        pytest.skip("this machine's compiler makes programs for glibc 2.17")
    assert done.returncode == ExitCode.MISMATCH
    assert "and the target has 2.17" in done.stderr


@pytest.mark.requires("mpi:mpich", "mpi:openmpi", "python:mpi4py")
def test_one_pack_of_a_python_program_runs_under_two_families(
    run_mpiric, mpi_prefix, program_python, environment, tmp_path
):
    place = tmp_path / "project"
    place.mkdir()
    (place / "solve.py").write_text(
        "from mpi4py import MPI\nimport words\nimport sys\n"
        "total = MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1)\n"
        "if MPI.COMM_WORLD.rank == 0: print(words.SUM, total, sys.argv[1:])\n"
    )
    (place / "words.py").write_text("SUM = 'sum'\n")
    prefix = mpi_prefix("mpich")
    line = (prefix / "bin/mpiexec", "-n", "2", program_python("mpi4py"), "solve.py", "a")
    pack = tmp_path / "solve.pack"
    # It compresses the interpreter's standard library, which takes minutes while other tests run.
    done = run_mpiric("pack", "-o", pack, "--", *line, cwd=place, timeout=900)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(place)
    for launcher in (prefix / "bin/mpiexec", mpi_prefix("openmpi") / "bin/mpirun"):
        more = ("--oversubscribe",) if launcher.name == "mpirun" else ()
        done = subprocess.run(
            [launcher, *more, "-n", "2", pack, "b"],
            env={**environment, "TMPDIR": str(tmp_path)},
            cwd="/",
            capture_output=True,
            text=True,
        )
        assert done.stdout == "sum 3 ['b']\n", done.stderr


def test_a_recipe_goes_along(run_mpiric, app, start, tmp_path):
    """Settings of ranks are stored in the image, launcher options on the command line."""
    recipe = tmp_path / "app.toml"
    banner = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True).stdout
    version = banner.split("\n")[0].split()[-1]
    recipe.write_text(recipe_text("app", "openmpi4", "openmpi", version, "openmpi"))
    line = ("mpirun.openmpi", *RANKS, app, "a")
    done = run_mpiric("pack", "--json", "--recipe", recipe, "-o", tmp_path / "app.pack", "--", *line)
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert "--bind-to core" in described["start"]
    assert "trim 536870912" in start(tmp_path / "app.pack", "b").stdout
    # A variable of the user has precedence.
    assert "trim 4096" in start(tmp_path / "app.pack", "b", MALLOC_TRIM_THRESHOLD_="4096").stdout
