"""A launch line with Charliecloud, executed: settings reach the container, records leave it."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from mpiric.launchers import parse_command, render
from mpiric.model.job import Spelling

FOLDERS = "bin dev etc home lib lib64 mnt opt proc root run sys tmp usr/bin usr/lib var/tmp "
FOLDERS += " ".join(f"mnt/{number}" for number in range(10))

USER = {"USER": "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")}  # ch-run wants one
NAMING = """
#include <mpi.h>
#include <stdio.h>
int main(int count, char** words) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, rank, ranks;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_library_version(version, &length);
    if (rank == 0) printf("%d ranks of %.5s\\n", ranks, version);
    MPI_Finalize();
    return 0;
}
"""
LIQUID = """\
units lj
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 10
run 50
"""
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
    """Return `in_container(spelling)`: sorted output of two ranks inside with A and LD_PRELOAD."""

    def run(spelling: Spelling, *options: str, **variables: str) -> list[str]:
        environment_of_run = {**environment, **USER, **variables}
        inside = ("/bin/sh", "-c", 'echo "A=$A preload=$LD_PRELOAD"')
        command = ("mpirun.openmpi", "-n", "2", "ch-run", *options, str(image), "--", *inside)
        job = parse_command(command, str(tmp_path), environment_of_run, dialect="openmpi4")
        assert job.container is not None
        assert job.container.image == str(image)
        launch = render(job, [("knob", "x", spelling)] if spelling != Spelling() else [])
        done = subprocess.run(
            launch.argv,
            env={**environment_of_run, **launch.environment},
            capture_output=True,
            text=True,
            timeout=60,
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


@pytest.fixture
def ring(image):
    """Image with the /usr of the host and a program, and the argv that starts two ranks of it."""
    shutil.rmtree(image / "usr")
    for name in ("bin", "lib", "lib64"):
        shutil.rmtree(image / name)
        (image / name).symlink_to(f"usr/{name}")
    for name in ("usr", "opt/app"):
        (image / name).mkdir()
    subprocess.run(["mpicc.openmpi", RING, "-o", image / "opt/app/ring"], check=True)

    def launch_line(*options: str) -> tuple[object, ...]:
        engine = ("ch-run", *options, "-b", "/usr:/usr", image, "--")
        return ("--", "mpirun.openmpi", "--oversubscribe", "-n", "2", *engine, "/opt/app/ring")

    return launch_line


@pytest.mark.requires("mpicc.openmpi")
def test_doctor_names_what_the_container_keeps_from_the_ranks(ring, run_mpiric):
    done = run_mpiric("doctor", "--json", *ring(), env={**USER, "LD_PRELOAD": "/of/the/site.so"})
    answer = {entry["id"]: entry for entry in json.loads(done.stdout)["findings"]}
    assert answer["container-preload"]["fix"] == "ch-run --unset-env=LD_PRELOAD"
    assert "--join" in answer["container-cma"]["fix"]


@pytest.mark.requires("mpi:mpich")
@pytest.mark.parametrize(("brings", "says"), [("host", "2 ranks of MPICH"), ("image", "libmpi.so.12")])
def test_the_hosts_mpi_takes_the_place_of_the_images(ring, image, run_mpiric, mpi_prefix, brings, says):
    """The image has no library of that name, so that only the host's lets the program start."""
    prefix = mpi_prefix("mpich")
    program = image / "opt/app/ring"
    source = program.with_suffix(".c")
    source.write_text(NAMING)
    subprocess.run([prefix / "bin/mpicc", source, "-o", program], check=True)
    own_tmp = ring("--private-tmp")  # the library may be in a directory that the host's /tmp would hide
    line = ("--", prefix / "bin/mpiexec", "-n", "2", *own_tmp[5:])
    done = run_mpiric(
        "run", "--no-recipe", "--mpi", brings, *line, env=USER | {"UCX_POSIX_USE_PROC_LINK": "n"}
    )
    assert (done.returncode == 0) == (brings == "host"), done.stderr
    assert says in done.stdout + done.stderr


@pytest.mark.requires("mpicc.openmpi", "mpi:mpich")
def test_the_hosts_mpi_serves_an_images_program_of_another_abi(ring, run_mpiric, mpi_prefix):
    line = ("--", mpi_prefix("mpich") / "bin/mpiexec", "-n", "2", *ring("--private-tmp")[5:])
    env = USER | {"UCX_POSIX_USE_PROC_LINK": "n"}
    done = run_mpiric("run", "--no-recipe", "--mpi", "host", *line, env=env)
    assert (done.returncode, done.stdout) == (0, "sum 2\n"), done.stderr


@pytest.mark.requires("lmp", "mpi:mpich")
@pytest.mark.usefixtures("ring")
def test_debians_lammps_in_an_image_computes_the_same_under_the_hosts_mpi(
    image, run_mpiric, mpi_prefix, tmp_path
):
    """Built for Open MPI, in an image, under MPICH of the host: every number of its log but times."""
    (image / "opt/app/in.lj").write_text(LIQUID)
    inside = ("lmp", "-in", "/opt/app/in.lj", "-log", "none")
    engine = ("ch-run", "--private-tmp", "-b", "/usr:/usr", image, "--", *inside)
    # Each container is a user namespace of its own: no rank may read another's memory.
    env = USER | {"UCX_POSIX_USE_PROC_LINK": "n", "MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    of_image = run_mpiric(
        "run", "--no-recipe", "--", "mpirun.openmpi", "--oversubscribe", "-n", "2", *engine, env=env
    )
    line = ("--", mpi_prefix("mpich") / "bin/mpiexec", "-n", "2", *engine)
    of_host = run_mpiric("run", "--no-recipe", "--mpi", "host", *line, env=env)
    assert of_host.returncode == 0, of_host.stderr
    rows = [
        re.findall(r"^ +\d+(?: +-?\d\S*){5} *$", done.stdout, re.MULTILINE) for done in (of_image, of_host)
    ]
    assert rows[1] == rows[0]
    assert len(rows[0]) == 6


@pytest.mark.requires("mpicc.openmpi")
def test_run_says_that_ranks_do_not_find_their_launcher(ring, run_mpiric):
    done = run_mpiric("run", "--no-recipe", "--dry-run", *ring("--unset-env=*"), env=USER)
    assert "each would be rank 0 of 1 (container-singletons" in done.stderr
    assert "ch-run without --unset-env" in done.stderr


@pytest.mark.requires("mpicc.openmpi")
def test_a_profile_counts_what_ranks_inside_send(ring, run_mpiric, tmp_path):
    """The program sends ten rounds around a ring of two ranks."""
    done = run_mpiric("profile", "--json", "-o", tmp_path / "p", *ring(), env=USER)
    assert done.returncode == 0, done.stderr
    profile = json.loads(done.stdout)
    assert profile["p2p"] == [[0, 1, 10, 80], [1, 0, 10, 80]]
    calls = {use["name"]: use["calls"] for use in profile["functions"]}
    assert (calls["MPI_Allreduce"], calls["MPI_Irecv"]) == (20, 20)


@pytest.fixture
def short_place():
    """Directory with a path that is short enough for Podman."""
    with tempfile.TemporaryDirectory(prefix="p", ignore_cleanup_errors=True) as place:
        yield Path(place)


@pytest.mark.requires("podman", "runc", "root", "mpicc.openmpi")
@pytest.mark.usefixtures("ring")
def test_podman_keeps_the_launcher_from_the_ranks(image, run_mpiric, short_place):
    places = ("--root", short_place / "s", "--runroot", short_place / "r", "--storage-driver", "vfs")
    limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000")  # limits that a sandbox may not raise
    engine = ("podman", *places, "--runtime", "runc", "--cgroup-manager", "cgroupfs", "run", "--rm", *limits)
    remaining = ("--network=none", "--volume=/usr:/usr:ro", "--rootfs", image, "/opt/app/ring")
    launcher = ("mpirun.openmpi", "--oversubscribe", "-n", "2")
    subprocess.run([*engine, *remaining[:-1], "/bin/true"], check=True)  # two at once do not make its storage
    done = run_mpiric("run", "--no-recipe", "--dry-run", "--", *launcher, *engine, *remaining)
    assert "podman run --env-host --network=host" in done.stderr, done.stderr
