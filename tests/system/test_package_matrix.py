"""Every C library of a host with every one of an image: equal counts and results under three MPIs.

Hosts and images are root file systems of Debian 11, 12 and 13. The wheel is installed on the host without a
compiler, the launcher runs there, and Charliecloud takes each rank into the image.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from uuid import uuid4

import pytest
from tests.support.dist import DIST, PROCESSOR, ROOT, VERSION, run
from tests.support.packaged_programs import (
    ON_PAPER,
    SUITES,
    build_program,
    counted,
    install_inside,
    launch_line,
    settings,
)
from tests.support.roots import inside, root_of

from mpiric.host.facts.elf import read_elf

HERE = Path(__file__).parent
MPIS = ("mpich", "openmpi", "intelmpi")
LOCAL = ROOT / "src/mpiric/_native"
MOUNT_POINTS = [Path("/mnt", str(number)) for number in range(10)]
CALLS, BYTES = "2000", "4096"
ENGINE = """#!/bin/sh
here=${0%/*}
exec "$here/ld.so" --library-path "$here" "$here/ch-run.elf" "$@"
"""

pytestmark = [
    pytest.mark.sweep,
    pytest.mark.requires("packages", "root", "mounts", "mmdebstrap", "ch-run", "ldd"),
    pytest.mark.requires(*(f"mpi:{mpi}" for mpi in MPIS)),
    pytest.mark.timeout(1800),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ch-run of this system with its libraries, which runs on any host."""
    place = tmp_path_factory.mktemp("engine")
    program = shutil.which("ch-run")
    assert program
    shutil.copy(program, place / "ch-run.elf")
    for line in run("ldd", program).stdout.splitlines():
        path = next((word for word in line.split() if word.startswith("/")), "")
        if path:
            shutil.copy(path, place / ("ld.so" if "/ld-linux" in path else Path(path).name))
    (place / "ch-run").write_text(ENGINE)
    (place / "ch-run").chmod(0o755)
    return place


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`installed(suite)`: the directory with the installed wheel on that host, created at the first call."""
    results: dict[str, Path] = {}

    def place(suite: str) -> Path:
        if suite not in results:
            results[suite] = tmp_path_factory.mktemp(suite)
            wheel = DIST / f"mpiric-{VERSION}-py3-none-manylinux_2_17_{PROCESSOR}.whl"
            install_inside(root_of(suite), wheel, results[suite], PROCESSOR)
        return results[suite]

    return place


Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def matrix(engine, installed, mpi_prefix, tmp_path) -> Callable[..., tuple[Run, list[str]]]:
    """Return a function: `matrix(host, image, mpi, source, *arguments)` gives mpiric and a launch line."""

    def cell(host: str, image: str, mpi: str, source: Path, *arguments: str) -> tuple[Run, list[str]]:
        prefix, root = mpi_prefix(mpi), root_of(image)
        for path in (prefix, *MOUNT_POINTS):  # mount points must exist in the image
            (root / str(path).lstrip("/")).mkdir(parents=True, exist_ok=True)
        # Ranks in one user namespace can copy from each other's memory.
        joined = ("--join", "--join-ct=2", f"--join-tag={uuid4().hex}")
        program = build_program(source, mpi, tmp_path)
        line = launch_line(
            mpi,
            prefix,
            engine / "ch-run",
            *joined,
            f"--bind={prefix}:{prefix}",
            root,
            "--",
            program,
            *arguments,
        )
        places = [tmp_path, engine, prefix.parent, root]
        variables = {**settings(prefix), "USER": "root", "XDG_CACHE_HOME": str(tmp_path / "cache")}

        def run_mpiric(*arguments: object, venv: Path | None = None) -> CompletedProcess[str]:
            place = venv or installed(host)
            return inside(root_of(host), [place / "venv/bin/mpiric", *arguments], [*places, place], variables)

        return run_mpiric, line

    return cell


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("image", SUITES)
@pytest.mark.parametrize("host", SUITES)
def test_a_profile_counts_and_a_settled_tuner_serves_what_they_do_elsewhere(
    host, image, name, matrix, tmp_path
):
    mpiric, line = matrix(host, image, name, HERE / "analytic.c")
    done = mpiric("profile", "--json", "-o", tmp_path / "p", "--", *line)
    assert counted(done.stdout).items() >= ON_PAPER.items(), done.stderr
    assert "2 ranks\n" in done.stderr

    mpiric, line = matrix(host, image, name, HERE / "runtime_programs/repeats.c", CALLS, BYTES)
    learned, again = tmp_path / "learned.json", tmp_path / "again.json"
    for options in (("--policy-out", learned), ("--policy", learned, "--policy-out", again)):
        done = mpiric("run", "--no-recipe", *options, "--", *line)
        assert done.stdout == "right\n", done.stderr
    decided = [
        [key["candidate"] for key in json.loads(path.read_text())["keys"]] for path in (learned, again)
    ]
    assert decided[0] == decided[1]
    assert decided[0], done.stderr


@pytest.mark.parametrize("image", SUITES)
@pytest.mark.parametrize("host", SUITES)
def test_a_preload_that_cannot_load_is_never_tried(host, image, matrix, installed, tmp_path):
    """This system's own libraries in the place of portable ones: they load, or a sentence says why not."""
    mpiric, line = matrix(host, image, "mpich", HERE / "analytic.c")
    venv = tmp_path / "local"
    shutil.copytree(installed(host), venv, symlinks=True)
    (native,) = venv.glob("venv/lib/python3*/site-packages/mpiric/_native")
    for library in native.glob("*/libmpiric.so"):
        shutil.copy(LOCAL / library.relative_to(native), library)
    (native / "manifest.json").unlink()  # so that they differ from the installed ones
    needed = max(elf.glibc_needed for path in LOCAL.glob("*/libmpiric.so") if (elf := read_elf(str(path))))
    done = mpiric("profile", "--json", "-o", tmp_path / "p", "--", *line, venv=venv)
    assert "2 ranks\n" in done.stdout + done.stderr
    assert "ld.so" not in done.stderr
    if tuple(map(int, SUITES[image].split("."))) >= needed:
        assert counted(done.stdout).items() >= ON_PAPER.items(), done.stderr
    else:
        assert f"has glibc {SUITES[image]}, and mpiric's library needs " in done.stderr
