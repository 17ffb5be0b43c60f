"""Files outside a launch's directory: which are removed and, above all, which stay."""

import mmap
import os
import select
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from mpiric.host.processes.leftovers import Arrivals, Leftovers, remove_recent
from mpiric.host.processes.proc import children

# On one worker: each test would see the segments and launchers of the others.
pytestmark = pytest.mark.xdist_group("leftovers")

SHARED = Path("/dev/shm")


@pytest.fixture
def dead() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def segment():
    """Names for shared memory, removed at the end."""
    segments = []

    def name() -> Path:
        segments.append(SHARED / f"vader_segment.{os.uname().nodename}.{os.getuid()}.{uuid.uuid4().hex}.0")
        return segments[-1]

    yield name
    for path in segments:
        path.unlink(missing_ok=True)


@pytest.fixture
def base(tmp_path: Path):
    """Return a TMPDIR, and the removal of files that the processes ``pids`` left in it."""

    def clean(*pids: int) -> list[str]:
        Leftovers({"TMPDIR": str(tmp_path)}).remove(set(pids))
        return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))

    return tmp_path, clean


@pytest.fixture(params=["open", "mapped"])
def hold(request):
    """Have another process make a file and hold it, open or mapped; returns the process when it does."""
    processes = []
    code = """
import mmap, os, sys
file = open(sys.argv[1], "w+b", buffering=0)
file.write(bytes(4096))
if sys.argv[2] == "mapped":
    memory = mmap.mmap(file.fileno(), 4096)
    file.close()
    os.closerange(3, 100)
print("held", flush=True)
sys.stdin.read()
"""

    def start(path):
        command = [sys.executable, "-c", code, path, request.param]
        processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert processes[-1].stdout.readline() == b"held\n"
        return processes[-1]

    yield start
    for process in processes:
        process.communicate(timeout=60)


def test_only_segments_that_the_launch_held_are_removed(segment, hold):
    leftovers, segment_of_launch, foreign, nobodys = Leftovers({}), segment(), segment(), segment()
    launch, other = hold(segment_of_launch), hold(foreign)
    assert not leftovers.note([launch.pid])
    nobodys.write_bytes(b"x")  # another launch has made it and not opened it yet
    for process in (launch, other):
        process.communicate(timeout=60)
    leftovers.remove({launch.pid})
    assert [path.exists() for path in (segment_of_launch, foreign, nobodys)] == [False, True, True]


def test_a_segment_of_the_same_name_made_by_somebody_else_stays(segment, hold):
    leftovers, path = Leftovers({}), segment()
    launch = hold(path)
    assert leftovers.note([launch.pid])
    launch.communicate(timeout=60)
    keep_inode = path.open("rb")
    path.unlink()
    path.write_bytes(b"x")
    leftovers.remove({launch.pid})
    keep_inode.close()
    assert path.exists()


def test_a_segment_that_another_process_still_holds_stays(segment, hold):
    leftovers, path = Leftovers({}), segment()
    launch = hold(path)
    leftovers.note([launch.pid])
    leftovers.remove({1})
    assert path.exists()


def test_new_segments_are_noticed(segment):
    arrivals = Arrivals()
    segment().touch()
    assert select.select([arrivals.descriptor], [], [], 60)[0]
    assert arrivals.take()
    arrivals.close()


def test_an_older_segment_stays(segment):
    path = segment()
    path.write_bytes(b"x")
    Leftovers({}).remove(set())
    assert path.exists()


def test_a_segment_that_a_living_process_maps_stays(segment):
    leftovers, path = Leftovers({}), segment()
    path.write_bytes(b"x" * 4096)
    with path.open("r+b") as file:
        mapping = mmap.mmap(file.fileno(), 4096)
    leftovers.remove(set())
    assert path.exists()
    mapping.close()


def test_a_segment_that_a_living_process_has_open_stays(segment):
    leftovers, path = Leftovers({}), segment()
    with path.open("wb"):
        leftovers.remove(set())
        assert path.exists()


@pytest.mark.parametrize("name", ["prtrn.{pid}", "prte.host.{pid}.{uid}", "pmix_dstor_ds12_{pid}"])
def test_the_session_directory_of_a_dead_process_is_removed(base, dead, name):
    path, clean = base
    (path / name.format(pid=dead, uid=os.getuid()) / "1").mkdir(parents=True)
    assert clean(dead) == []


def test_open_mpi_4_keeps_files_that_other_launches_share(base, dead):
    path, clean = base
    session = path / f"ompi.host.{os.getuid()}"
    (session / f"pid.{dead}").mkdir(parents=True)
    (session / "pid.1").mkdir()
    assert clean(dead) == [session.name, f"{session.name}/pid.1"]


def test_the_session_directory_of_a_living_process_stays(base):
    path, clean = base
    (path / f"prtrn.{os.getpid()}").mkdir()
    assert clean(os.getpid()) == [f"prtrn.{os.getpid()}"]


def test_directories_that_are_not_session_directories_stay(base, dead):
    path, clean = base
    (path / f"results.{dead}").mkdir()
    assert clean(dead) == [f"results.{dead}"]


def test_a_link_in_place_of_a_session_directory_is_not_followed(base, dead, tmp_path_factory):
    path, clean = base
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "precious").touch()
    (path / f"prtrn.{dead}").symlink_to(elsewhere)
    clean(dead)
    assert (elsewhere / "precious").exists()


def test_only_files_younger_than_the_launches_are_removed(segment, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    old, young = segment(), segment()
    for path in (old, young):
        path.write_bytes(b"x")
    made_s = min(path.stat().st_ctime for path in (old, young))
    remove_recent(made_s + 3600)
    assert old.exists()
    assert young.exists()
    remove_recent(made_s)
    assert not old.exists()
    assert not young.exists()


def test_files_of_a_living_process_stay_at_any_age(segment):
    path = segment()
    path.write_bytes(b"x" * mmap.PAGESIZE)
    with path.open("r+b"):
        remove_recent(0.0)
        assert path.exists()


def test_sessions_of_ended_processes_go_and_those_of_others_stay(monkeypatch, tmp_path, dead):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in (f"prte.n2.{dead}.{os.getuid()}", f"prte.n2.{os.getpid()}.{os.getuid()}", "jf.12345"):
        (tmp_path / name).mkdir()
    remove_recent(0.0)
    remaining = sorted(path.name for path in tmp_path.iterdir())
    assert remaining == ["jf.12345", f"prte.n2.{os.getpid()}.{os.getuid()}"]


@pytest.mark.parametrize("is_older", [True, False])
def test_topologies_stay_for_launchers_that_may_have_made_them(monkeypatch, tmp_path, is_older):
    """A proxy of MPICH's launcher that was started after a file did not make it."""
    proxy = tmp_path / "hydra_pmi_proxy"
    proxy.symlink_to("/bin/sleep")
    topology = tmp_path / "hydra_hwloc_xmlfile_abcdef"
    monkeypatch.setattr("mpiric.host.processes.leftovers._TEMPORARY", str(tmp_path))
    # Other tests start such proxies at the same time.
    monkeypatch.setattr("mpiric.host.processes.leftovers.all_pids", lambda: children(os.getpid()))
    topology.write_text("")
    time.sleep(0.2)  # more than the clocks of files and processes differ
    with subprocess.Popen([str(proxy), "600"]) as living:
        try:
            while Path(f"/proc/{living.pid}/comm").read_text() != "hydra_pmi_proxy\n":
                time.sleep(0.01)
            if is_older:
                topology.touch()
            remove_recent(0.0)
            assert topology.exists() is is_older
        finally:
            living.kill()
    remove_recent(0.0)
    assert not topology.exists()
