"""A launch line around Charliecloud, run for real: settings get inside, and what is recorded gets out."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mpiric.launchers import parse_command, render
from mpiric.model.spelling import Spelling

FOLDERS = "bin dev etc home lib lib64 mnt opt proc root run sys tmp usr/bin usr/lib var/tmp "
FOLDERS += " ".join(f"mnt/{number}" for number in range(10))

USER = {"USER": "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")}  # ch-run wants one
RING = Path(__file__).parent / "runtime_programs/ring.c"


def libraries(program: str) -> set[str]:
    printed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"/\S+", printed)) - {f"{program}:"}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An unpacked image of a shell, and a library to preload."""
    root = tmp_path / "image"
    for folder in FOLDERS.split():
        (root / folder).mkdir(parents=True)
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (root / "etc" / name).touch()
    shell = os.path.realpath("/bin/sh")
    for path in (*libraries(shell), "/bin/sh"):
        copy = root / path.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return root


@pytest.fixture
def in_container(image: Path, environment: dict[str, str], tmp_path: Path):
    """`in_container(spelling)`: what two ranks inside print of A and LD_PRELOAD, sorted."""

    def run(spelling: Spelling, *options: str, **variables: str) -> list[str]:
        own = {**environment, **USER, **variables}
        inside = ("/bin/sh", "-c", 'echo "A=$A preload=$LD_PRELOAD"')
        words = ("mpirun.openmpi", "-n", "2", "ch-run", *options, str(image), "--", *inside)
        job = parse_command(words, str(tmp_path), own, dialect="openmpi4")
        assert job.container is not None
        assert job.container.image == str(image)
        launch = render(job, [("knob", "x", spelling)] if spelling != Spelling() else [])
        done = subprocess.run(
            launch.argv, env={**own, **launch.environment}, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines())

    return run


pytestmark = pytest.mark.requires("ch-run", "mpirun.openmpi", "ldd")


def test_the_users_own_line_runs_inside(in_container):
    assert in_container(Spelling(), A="0") == ["A=0 preload="] * 2


def test_a_setting_is_seen_by_the_ranks_inside(in_container):
    assert in_container(Spelling(environment={"A": "1,2 3"}), A="0") == ["A=1,2 3 preload="] * 2


def test_a_setting_is_seen_inside_a_container_that_hides_the_host(in_container):
    assert in_container(Spelling(environment={"A": "1"}), "--unset-env=*", A="0") == ["A=1 preload="] * 2


def test_the_users_own_option_of_the_engine_is_replaced(in_container):
    assert in_container(Spelling(environment={"A": "1"}), "--set-env=A=0") == ["A=1 preload="] * 2


def test_a_preload_is_seen_by_the_ranks_inside(in_container, image):
    libc = next(path for path in image.rglob("libc.so*"))
    assert in_container(Spelling(preload=(str(libc),))) == [f"A= preload=/mnt/9/{libc.name}"] * 2


@pytest.mark.requires("mpicc.openmpi")
def test_a_profile_counts_what_ranks_inside_send(image, run_mpiric, tmp_path):
    """Ten rounds of a ring of two; the host's /usr is the container's, and nothing else of it."""
    shutil.rmtree(image / "usr")
    for name in ("bin", "lib", "lib64"):
        shutil.rmtree(image / name)
        (image / name).symlink_to(f"usr/{name}")
    for name in ("usr", "opt/app"):
        (image / name).mkdir()
    subprocess.run(["mpicc.openmpi", RING, "-o", image / "opt/app/ring"], check=True)
    words = ("mpirun.openmpi", "--oversubscribe", "-n", "2", "ch-run", "-b", "/usr:/usr", image)
    done = run_mpiric(
        "profile", "--json", "-o", tmp_path / "p", "--", *words, "--", "/opt/app/ring", env=USER
    )
    assert done.returncode == 0, done.stderr
    profile = json.loads(done.stdout)
    assert profile["p2p"] == [[0, 1, 10, 80], [1, 0, 10, 80]]
    calls = {use["name"]: use["calls"] for use in profile["functions"]}
    assert (calls["MPI_Allreduce"], calls["MPI_Irecv"]) == (20, 20)
