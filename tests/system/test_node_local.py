"""Files that are made on a node's own disk: the program finds what the plain run has, and nothing is lost."""

import errno
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.lab import fs
from tests.support.oversubscription import yielding
from tests.support.preloaded import NATIVE

from mpiric.workflows.gather.gather import gather

HERE = Path(__file__).parent
PIECE = bytes(ord("a") + at % 23 for at in range(1000))
WHOLE = 300 * PIECE
FAST = ("targets=4", *fs.FAST)
MEMORY = Path("/dev/shm")  # another file system than that of the tests, as the disk of a node is

pytestmark = pytest.mark.requires("mpi:mpich")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("local_files")


@pytest.fixture
def program(place, mpi_prefix):
    path = place / "local_files"
    if not path.exists():
        subprocess.run([mpi_prefix("mpich") / "bin/mpicc", "-o", path, HERE / "local_files.c"], check=True)
    return path


@pytest.fixture
def disk():
    """A directory on another file system; nothing of the runtime's may be left in it."""
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == Path("/tmp").stat().st_dev:
        pytest.skip("there is no second file system to write to")
    path = MEMORY / f"mpiric-test-{os.getpid()}"
    path.mkdir()
    yield path
    shutil.rmtree(path)


@pytest.fixture
def words(mpi_prefix, environment, disk):
    """`words(program, …, ranks=1)`: the command that runs it, its files of local or full names there."""

    def command(*program, ranks=1, pattern="local.*;full.*", at=disk):
        given = {
            "LD_PRELOAD": yielding(NATIVE / "mpich/libmpiric.so"),
            "MPIRIC_NODE_LOCAL": pattern,
            "MPIRIC_LOCAL_DIR": at,
        }
        settings = [str(word) for name, value in given.items() for word in ("-genv", name, value)]
        return [str(mpi_prefix("mpich") / "bin/mpiexec"), "-n", str(ranks), *settings, *map(str, program)]

    return command


@pytest.fixture
def run(words, environment, tmp_path):
    def start(*program, check=True, **more):
        done = subprocess.run(
            words(*program, **more),
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    return start


@pytest.fixture
def writes(place, mpi_prefix):
    path = place / "writes"
    if not path.exists():
        subprocess.run([mpi_prefix("mpich") / "bin/mpicc", "-o", path, HERE / "writes.c"], check=True)
    return path


def left_on(disk):
    return [path for path in disk.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "how", ["return", "exit", "_exit", "abort", "fault", "terminated", "MPI_Abort", "exec"]
)
def test_all_is_in_its_place_however_the_program_ends(how, run, program, disk, tmp_path):
    run(program, "ends", how, check=False)
    for name in ("stream", "closed", "open"):
        path = tmp_path / f"local.{name}"
        assert (path.is_symlink(), path.read_bytes() == WHOLE) == (False, True), name
    assert (left_on(disk), list(tmp_path.glob(".mpiric*"))) == ([], [])
    assert (tmp_path / "local.open").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("what", "seen"),
    [
        ("nothing", "local.nothing link 0 mode 640 size 300000\n"),
        ("fsync", "local.fsync link 0 mode 640 size 300000\n"),
        ("rename", ""),
        ("unlink", ""),
        ("dup", "local.dup link 0 mode 640 size 301000\n"),
        ("append", "local.append link 0 mode 640 size 301000\n"),
        ("child", "local.child link 0 mode 640 size 301000\n"),
        ("system", "local.system link 0 mode 640 size 300000\n"),
    ],
)
def test_what_is_asked_of_a_file_is_answered_as_in_the_plain_run(what, seen, run, program, disk, tmp_path):
    done = run(program, "asks", what)
    assert (done.stdout, done.stderr) == (seen, "")
    assert not any(path.is_symlink() for path in tmp_path.iterdir())
    if what == "rename":
        assert (tmp_path / "renamed").read_bytes() == WHOLE + PIECE
    assert (left_on(disk), list(tmp_path.glob(".mpiric*"))) == ([], [])


@pytest.mark.requires("unshare", "root")
def test_a_rank_on_another_node_gets_the_file_whole(words, environment, program, disk, tmp_path):
    elsewhere = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none {disk} && exec "$@"', "sh"]
    argv = [*words(program, "meets"), ":", "-n", "1", *elsewhere, str(program), "meets"]
    done = subprocess.run(argv, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "open 300000 closed 300000\nthen 301000 moved 300000\n"
    assert (left_on(disk), list(tmp_path.glob(".mpiric*"))) == ([], [])


def test_a_rank_on_the_same_node_sees_each_byte(run, program):
    done = run(program, "meets", ranks=2)
    assert done.stdout == "open 300000 closed 300000\nthen 301000 moved 300000\n"


@pytest.mark.requires("root")
def test_a_full_disk_of_the_node_is_not_noticed(run, program, disk, tmp_path):
    small = disk / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], check=True)
    try:
        done = run(program, "fills", "2", at=small)
        assert left_on(small) == []
    finally:
        subprocess.run(["umount", small], check=True)
    assert done.stderr == ""
    text = (PIECE[:23] * (1 + (2 << 20) // 23))[: 1 << 20]
    for how in ("write", "pwrite", "writev", "fwrite"):
        assert (tmp_path / f"full.{how}").read_bytes() == 2 * text, how


def test_what_a_killed_rank_has_written_is_brought_by_gather(words, environment, program, disk, tmp_path):
    with subprocess.Popen(
        words(program, "sleeps"), env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        rank = int(process.stdout.readline())
        while len(left_on(disk)) > 1:  # once the closed file is in its place, its copy here is removed
            time.sleep(0.01)
        os.kill(rank, signal.SIGKILL)
    gathered = gather(tmp_path)
    assert gathered.left == ()
    assert str(tmp_path / "local.open") in gathered.moved
    for name in ("closed", "open"):
        assert (tmp_path / f"local.{name}").read_bytes() == WHOLE
    assert (left_on(disk), list(tmp_path.glob(".mpiric*"))) == ([], [])


def test_without_a_disk_of_the_node_files_are_made_in_their_places(run, program, disk, tmp_path):
    done = run(program, "asks", "nothing", at=disk / "absent")
    assert "is made on the node's disk" in done.stderr
    assert (tmp_path / "local.nothing").read_bytes() == WHOLE


@pytest.mark.requires("header:fuse3/fuse.h", "fusermount3", "pkg-config", "g++", "fuse", "root")
@pytest.mark.parametrize(
    ("fault", "number", "said"),
    [
        ("full 0", errno.ENOSPC, ""),  # at the end of the program it goes to another target
        ("quota", errno.EDQUOT, "stays on the disk of this node"),
        ("error", errno.EIO, "stays on the disk of this node"),
    ],
)
@pytest.mark.parametrize(("how", "pieces"), [("written", 40), ("printed", 2000)])
def test_what_is_wrong_in_its_place_is_told_by_close_and_no_byte_is_lost(
    how, pieces, fault, number, said, run, writes, place, tmp_path
):
    with fs.client(fs.build(place / "labfs"), tmp_path / "state", tmp_path / "mount", *FAST) as lab:
        file = lab.mount / "local.file"
        done = run(writes, how, file, lab.state / "faults", fault)
        assert done.stdout == f"failed {number}\n"
        assert said in done.stderr
        lab.fault("")
        assert file.is_symlink() == bool(said)
        assert not said or gather(lab.mount).moved == (str(file),)
        assert file.read_bytes() == pieces * (b"x" * 99 + b"\n")
