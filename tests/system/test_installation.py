"""`pip install .` in a fresh environment, with native parts and without."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mpiric import __version__
from mpiric.host.installation.native import altered_parts

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(environment, tmp_path):
    """Installs a copy of the checkout as its files are now; returns the environment's bin directory."""

    def install(**variables: str) -> Path:
        copy = tmp_path / "checkout"
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        for name in tracked.decode().split("\0"):
            source, target = ROOT / name, copy / name
            if name and source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
        python = tmp_path / "venv/bin/python"
        subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
        variables = {"MPIRIC_CHARTS": "off", **variables}  # charts are optional in `make setup`
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", copy]
        done = subprocess.run(pip, env={**environment, **variables}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return python.parent

    return install


def probes(bin_directory: Path) -> list[str]:
    native = next(bin_directory.parent.glob("lib/python*/site-packages/mpiric")) / "_native"
    return sorted(path.parent.name for path in native.glob("*/probe-mpi"))


def check_commands(where: Path, place: Path, environment: dict[str, str]) -> None:
    """Check that each command starts in another directory, by its path and by a link."""
    (place / "a.c").write_text("int f(void) { return 1; }\n")
    (place / "linked").symlink_to(where / "mpiric")
    helped = subprocess.run([place / "linked", "--help"], env=environment, capture_output=True, text=True)
    assert helped.stdout.startswith("Usage: mpiric "), helped.stderr
    for command in (["mpiric", "cc"], ["mpiric-cc"], ["mpiric-cc"], ["mpiric-cxx", "g++"]):
        arguments = [where / command[0], *command[1:], "-c", "a.c", "-o", "a.o"]
        subprocess.run(arguments, cwd=place, env=environment, check=True)
        assert b".mpiric.x86_64_v3" in (place / "a.o").read_bytes()
        (place / "a.o").unlink()


@pytest.mark.sweep
@pytest.mark.timeout(1500)
@pytest.mark.requires("gcc", "g++", "ccache", "mpi:mpich", "mpi:openmpi")
def test_a_wheel_made_with_a_compiler_carries_the_probes(installed, mpi_prefix, tmp_path, environment):
    requests = subprocess.run(
        ["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True
    )
    cache = {
        "CCACHE_DIR": requests.stdout.strip(),
        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
        "CCACHE_BASEDIR": str(tmp_path / "checkout"),
        "CCACHE_NOHASHDIR": "1",
    }
    # Inside of the copy, where `make setup` has them: ccache then knows what it compiled.
    home = tmp_path / "checkout/.venv/share/mpiric/mpi"
    home.parent.mkdir(parents=True)
    home.symlink_to(mpi_prefix("mpich").parent)
    prefixes = {
        f"MPIRIC_{name.upper()}_PREFIX": str(home / mpi_prefix(name).name) for name in ("mpich", "openmpi")
    }
    portable = tmp_path / f"mpiric-{__version__}-py3-none-manylinux_2_17_x86_64.whl"
    with zipfile.ZipFile(portable, "w") as packed:
        packed.writestr("mpiric/_native/mpich/libmpiric.so", "portable")
    where = installed(MPIRIC_NATIVE="local", MPIRIC_RUNTIME=str(portable), **prefixes, **cache)
    assert probes(where) == ["mpich", "openmpi", "standard"]
    native = next(where.parent.glob("lib/python*/site-packages/mpiric/_native"))
    assert (native / "mpich/libmpiric.so").read_text() == "portable"
    assert (native / "openmpi/libmpiric.so").read_bytes()[:4] == b"\x7fELF"
    assert altered_parts(native) == ()
    assert (where / "mpiric-cc").read_bytes()[:4] == b"\x7fELF"
    check_commands(where, tmp_path, environment)


@pytest.mark.sweep
@pytest.mark.requires("gcc", "g++")
def test_a_wheel_made_without_native_parts_is_whole_but_for_them(installed, environment, tmp_path):
    where = installed(MPIRIC_NATIVE="off")
    assert probes(where) == []
    check_commands(where, tmp_path, environment)
    subprocess.run([where / "python", "-m", "mpiric", "mpi", "list"], env=environment, check=True)
