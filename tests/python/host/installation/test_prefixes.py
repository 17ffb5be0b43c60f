"""A prefix exists completely or not at all, even if its installation is interrupted."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.small_wheels import write_wheel

from mpiric.host.installation import prefixes
from mpiric.host.installation.prefixes import install_package
from mpiric.host.user_directories import homes, installed_prefixes
from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import MpiPackage, WheelPart

FILES = {
    "bin/mpiexec": b"#!/bin/sh\nprefix=FILL_IN\n",
    "bin/tool": b"\x7fELF FILL_IN",
    "lib/libmpi.so.12": b"lib",
}
TINY = MpiPackage("tiny", (WheelPart("tiny-mpi", "1.0"),), substitutions={"FILL_IN": "${0%/*}/.."})


@pytest.fixture
def index(tmp_path, monkeypatch):
    """pip knows nothing but a directory of wheels."""
    directory = tmp_path / "index"
    directory.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


@pytest.fixture
def home(tmp_path, index):
    write_wheel(index, "tiny-mpi", "1.0", FILES)
    return tmp_path / "home"


def visible(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if not path.name.startswith("."))


def test_a_package_gets_a_prefix_of_its_own(home):
    assert install_package(TINY, home) == home / "tiny-1.0"
    assert (home / "tiny-1.0/lib/libmpi.so.12").read_bytes() == b"lib"


def test_an_installation_leaves_only_the_prefix(home):
    install_package(TINY, home)
    assert visible(home) == ["tiny-1.0"]
    assert not list(home.glob(".*.partial"))


def test_scripts_get_their_prefix_and_programs_are_unchanged(home):
    prefix = install_package(TINY, home)
    assert b"prefix=${0%/*}/.." in (prefix / "bin/mpiexec").read_bytes()
    assert (prefix / "bin/tool").read_bytes() == FILES["bin/tool"]


def test_the_second_time_nothing_is_fetched(home, index):
    install_package(TINY, home)
    next(index.iterdir()).unlink()
    assert install_package(TINY, home) == home / "tiny-1.0"


def test_a_failed_install_leaves_no_prefix(home, index):
    next(index.iterdir()).unlink()
    with pytest.raises(NotFoundError):
        install_package(TINY, home)
    assert visible(home) == []


def test_leftovers_of_a_killed_install_are_removed(home):
    (home / ".tiny-1.0.abc.partial/prefix/bin").mkdir(parents=True)
    install_package(TINY, home)
    assert not list(home.glob(".*.partial"))


def test_a_directory_that_no_install_finished_is_replaced(home):
    (home / "tiny-1.0/bin").mkdir(parents=True)
    assert (install_package(TINY, home) / "lib/libmpi.so.12").exists()


def test_several_at_once_all_get_the_same_prefix(home):
    with ThreadPoolExecutor(4) as pool:
        prefixes = set(pool.map(lambda _: install_package(TINY, home), range(4)))
    assert prefixes == {home / "tiny-1.0"}
    assert visible(home) == ["tiny-1.0"]


KILLED = """
import sys, time
from pathlib import Path
from mpiric.host.installation import prefixes
from mpiric.model.mpi_library import MpiPackage, WheelPart
def interrupted(wheel, prefix, moves):
    (prefix / "bin").mkdir(parents=True)
    Path("reached").touch()
    time.sleep(60)
prefixes.unpack_wheel = interrupted
prefixes.install_package(MpiPackage("tiny", (WheelPart("tiny-mpi", "1.0"),)), Path(sys.argv[1]))
"""


def test_a_killed_install_leaves_no_prefix_and_does_not_prevent_the_next(home, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(home)], cwd=tmp_path)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "reached").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert visible(home) == []
    assert (install_package(TINY, home) / "lib/libmpi.so.12").exists()


@pytest.mark.parametrize(("on_system", "linked"), [(False, True), (True, False)])
def test_a_library_is_linked_only_where_the_system_has_none(home, monkeypatch, on_system, linked):
    monkeypatch.setattr(prefixes, "_system_has", lambda _: on_system)
    package = MpiPackage("tiny", TINY.parts, fallbacks={"lib/libfabric.so.1": "libmpi.so.12"})
    assert (install_package(package, home) / "lib/libfabric.so.1").is_symlink() is linked


def test_the_users_choice_of_a_home_is_the_only_one():
    assert homes({"MPIRIC_MPI_HOME": "/scratch/mpi", "HOME": "/home/u"}) == (Path("/scratch/mpi"),)


def test_otherwise_the_data_directory_comes_before_the_environment_mpiric_runs_in():
    first, second = homes({"HOME": "/home/u"})
    assert first == Path("/home/u/.local/share/mpiric/mpi")
    assert second == Path(sys.prefix) / "share/mpiric/mpi"


def test_only_finished_prefixes_count_as_installed(home):
    install_package(TINY, home)
    (home / "other-2.0/bin").mkdir(parents=True)
    assert installed_prefixes({"MPIRIC_MPI_HOME": os.fspath(home)}) == {"tiny-1.0": home / "tiny-1.0"}
