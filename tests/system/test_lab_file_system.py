"""The lab's file system behaves as Lustre does where mpiric looks, and mpiric reads it right."""

import errno
import fcntl
import json
import os
import subprocess

import pytest
from tests.lab import fs

from mpiric.model.storage import ALL_TARGETS, FileLayout, Stripes
from mpiric.storage import _lov, storages
from mpiric.storage.lustre import parse

MIB = 1 << 20
PROGRESSIVE = FileLayout((Stripes(1, MIB, 4 * MIB), Stripes(ALL_TARGETS, 4 * MIB)))
FOUR = FileLayout((Stripes(4, MIB),))
FAST = ("targets=8", *fs.FAST)

pytestmark = pytest.mark.requires("header:fuse3/fuse.h", "fusermount3", "pkg-config", "g++", "fuse", "root")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return fs.build(tmp_path_factory.mktemp("labfs") / "labfs")


@pytest.fixture
def lab(program, tmp_path):
    with fs.client(program, tmp_path / "state", tmp_path / "mnt", *FAST) as client:
        yield client


def lfs(lab, *arguments):
    done = subprocess.run(["lfs", *map(str, arguments)], capture_output=True, text=True, env=lab.environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def failure(call):
    with pytest.raises(OSError) as raised:
        call()
    return raised.value.errno


def test_machine_shows_what_it_is_made_of(lab, run_mpiric):
    lfs(lab, "setstripe", "-c", 2, "-S", "4M", lab.mount)
    done = run_mpiric("machine", "--json", cwd=lab.mount, env={"PATH": lab.environment["PATH"]})
    assert done.returncode == 0, done.stderr
    (answer,) = [entry for entry in json.loads(done.stdout)["file_systems"] if entry["kind"] == "lustre"]
    assert (answer["targets"], answer["metadata_servers"], answer["mount_type"]) == (8, 1, "fuse.lustre")
    assert answer["default_layout"]["stripes"] == [
        {"count": 2, "size_bytes": 4 * MIB, "end_bytes": None, "pool": ""}
    ]


@pytest.mark.parametrize("layout", [FOUR, PROGRESSIVE], ids=["plain", "progressive"])
def test_a_layout_that_is_rendered_is_in_force_in_the_directory(lab, layout):
    ((program, *command),) = storages()["lustre"].render(layout, str(lab.mount))
    assert program == "lfs"
    lfs(lab, *command)
    assert parse(lfs(lab, "getstripe", "-d", lab.mount)) == layout
    assert _lov.parse(os.getxattr(lab.mount, _lov.ATTRIBUTE)) == layout


def test_what_mpiric_packs_is_what_lfs_prints(lab):
    os.setxattr(lab.mount, _lov.ATTRIBUTE, _lov.pack(PROGRESSIVE))
    assert parse(lfs(lab, "getstripe", "-d", lab.mount)) == PROGRESSIVE


def test_a_file_takes_the_layout_of_the_next_directory_above(lab):
    lfs(lab, "setstripe", "-c", 3, lab.mount)
    (lab.mount / "a").mkdir()
    (lab.mount / "a/file").write_bytes(b"x")
    assert parse(lfs(lab, "getstripe", lab.mount / "a/file")) == FileLayout((Stripes(3, MIB),))


def test_a_layout_for_a_file_that_has_objects_is_accepted_and_ignored(lab):
    (lab.mount / "file").write_bytes(b"x")
    os.setxattr(lab.mount / "file", _lov.ATTRIBUTE, _lov.pack(FOUR))
    assert _lov.parse(os.getxattr(lab.mount / "file", _lov.ATTRIBUTE)).count == 1


def test_a_delayed_file_is_written_to_only_once_it_has_a_layout(lab):
    file = os.open(lab.mount / "late", os.O_CREAT | os.O_WRONLY | os.O_NOCTTY | os.O_ASYNC, 0o600)
    assert failure(lambda: os.write(file, b"x")) == errno.EBADF
    os.setxattr(file, _lov.ATTRIBUTE, _lov.pack(FOUR))
    assert os.write(file, b"x") == 1
    os.close(file)
    assert _lov.parse(os.getxattr(lab.mount / "late", _lov.ATTRIBUTE)) == FOUR


def test_a_stripe_size_off_64_kib_is_refused(lab):
    bad = _lov.pack(FileLayout((Stripes(2, 1000),)))
    assert failure(lambda: os.setxattr(lab.mount, _lov.ATTRIBUTE, bad)) == errno.EINVAL


def test_bytes_come_back_through_another_client(lab, program, tmp_path):
    data = os.urandom(3 * MIB + 12345)
    lfs(lab, "setstripe", "-c", 4, "-S", "64K", lab.mount)
    (lab.mount / "file").write_bytes(data)
    with fs.client(program, lab.state, tmp_path / "other", *FAST) as other:
        assert (other.mount / "file").read_bytes() == data
        assert parse(lfs(other, "getstripe", other.mount / "file")).count == 4


@pytest.mark.parametrize(
    ("fault", "number"),
    [("full 0", errno.ENOSPC), ("quota", errno.EDQUOT), ("error", errno.EIO)],
)
def test_a_fault_reaches_the_writer_and_ends_with_its_line(lab, fault, number):
    lfs(lab, "setstripe", "-c", 8, lab.mount)
    with (lab.mount / "file").open("wb", buffering=0) as file:
        lab.fault(fault)
        assert failure(lambda: file.write(b"x" * 8 * MIB)) == number
        lab.fault("")
        assert file.write(b"x") == 1


def test_locks_fail_where_the_mount_has_none(lab):
    with (lab.mount / "file").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lab.fault("noflock")
        assert failure(lambda: fcntl.flock(file, fcntl.LOCK_EX)) == errno.EOPNOTSUPP
