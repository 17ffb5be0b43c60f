"""`pip install .` in a fresh environment, with a compiler and without."""

import subprocess
import sys
from pathlib import Path

import pytest

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
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", copy]
        done = subprocess.run(pip, env={**environment, **variables}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return python.parent

    return install


def probes(bin_directory: Path) -> list[str]:
    native = next(bin_directory.parent.glob("lib/python*/site-packages/mpiric")) / "_native"
    return sorted(path.parent.name for path in native.glob("*/probe-mpi"))


@pytest.mark.timeout(1500)
@pytest.mark.requires("gcc", "g++", "ccache", "mpi:mpich", "mpi:openmpi")
def test_a_wheel_made_with_a_compiler_carries_the_probes(installed, mpi_prefix, tmp_path):
    asked = subprocess.run(
        ["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True
    )
    cache = {
        "CCACHE_DIR": asked.stdout.strip(),
        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
        "CCACHE_BASEDIR": str(tmp_path / "checkout"),
        "CCACHE_NOHASHDIR": "1",
    }
    where = installed(MPIRIC_MPI_HOME=str(mpi_prefix("mpich").parent), **cache)
    assert probes(where) == ["mpich", "openmpi", "standard"]
    subprocess.run([where / "mpiric", "--version"], check=True)


def test_a_wheel_made_without_a_compiler_is_whole_but_for_them(installed, environment):
    where = installed(CXX="/no/such/compiler")
    assert probes(where) == []
    subprocess.run([where / "python", "-m", "mpiric", "mpi", "list"], env=environment, check=True)
