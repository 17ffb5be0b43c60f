"""Wheels are unpacked as RECORD says or not at all, and pip's words become the user's."""

import errno
import stat
import zipfile

import pytest
from tests.support.small_wheels import write_wheel

from mpiric.host.installation.prefixes import _pip_error, no_room_or, unpack_wheel
from mpiric.model.errors import MpiricError, NoRoomError, NotFoundError

FILES = {"bin/mpiexec": b"#!/bin/sh\n", "lib/libmpi.so.12": b"\x7fELF", "lib/x/libfabric.so.1": b"fabric"}
ALL = {"": ""}


@pytest.fixture
def wheel(tmp_path):
    return write_wheel(tmp_path, "tiny-mpi", "1.0", FILES)


def test_everything_of_the_data_scheme_is_unpacked(wheel, tmp_path):
    assert unpack_wheel(wheel, tmp_path / "p", ALL) == len(FILES)
    assert {name: (tmp_path / "p" / name).read_bytes() for name in FILES} == FILES


def test_metadata_of_the_wheel_stays_out_of_the_prefix(wheel, tmp_path):
    unpack_wheel(wheel, tmp_path / "p", ALL)
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == ["bin", "lib"]


def test_programs_stay_executable(wheel, tmp_path):
    unpack_wheel(wheel, tmp_path / "p", ALL)
    assert (tmp_path / "p/bin/mpiexec").stat().st_mode & stat.S_IXUSR


def test_libraries_do_not_become_executable(wheel, tmp_path):
    unpack_wheel(wheel, tmp_path / "p", ALL)
    assert not (tmp_path / "p/lib/libmpi.so.12").stat().st_mode & stat.S_IXUSR


def test_only_the_chosen_part_is_unpacked_and_moved(wheel, tmp_path):
    assert unpack_wheel(wheel, tmp_path / "p", {"lib/x/": "opt/"}) == 1
    assert (tmp_path / "p/opt/libfabric.so.1").read_bytes() == b"fabric"


def test_a_file_with_a_wrong_digest_is_refused(tmp_path):
    wheel = write_wheel(tmp_path, "tiny-mpi", "1.0", FILES, wrong_hash="libmpi.so.12")
    with pytest.raises(MpiricError, match=r"damaged: .*libmpi"):
        unpack_wheel(wheel, tmp_path / "p", ALL)


def test_a_file_that_record_does_not_name_is_refused(wheel, tmp_path):
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("tiny_mpi-1.0.data/data/bin/more", b"#!/bin/sh\n")
    with pytest.raises(MpiricError, match=r"damaged: .*bin/more"):
        unpack_wheel(wheel, tmp_path / "p", ALL)


def test_a_truncated_wheel_is_refused(wheel, tmp_path):
    wheel.write_bytes(wheel.read_bytes()[:200])
    with pytest.raises(MpiricError, match="damaged"):
        unpack_wheel(wheel, tmp_path / "p", ALL)


def test_a_wheel_cannot_write_outside_of_the_prefix(tmp_path):
    wheel = write_wheel(tmp_path, "tiny-mpi", "1.0", {"../../escaped": b""})
    with pytest.raises(MpiricError, match="outside"):
        unpack_wheel(wheel, tmp_path / "p", ALL)


@pytest.mark.parametrize(
    ("output", "kind", "says"),
    [
        ("/usr/bin/python3: No module named pip", NotFoundError, "has no pip"),
        ("ERROR: Could not install: [Errno 28] No space left on device", NoRoomError, "no room"),
        (
            "WARNING: NewConnectionError(...)\nERROR: No matching distribution found",
            NotFoundError,
            "out of reach",
        ),
        (
            "Temporary failure in name resolution\nERROR: No matching distribution",
            NotFoundError,
            "out of reach",
        ),
        ("ERROR: No matching distribution found for mpich==5.0.2", NotFoundError, "has no wheel"),
        ("ERROR: something new", NotFoundError, "something new"),
    ],
)
def test_errors_of_pip_are_reported_with_a_remedy(output, kind, says):
    error = _pip_error("mpich==5.0.2", output)
    assert isinstance(error, kind)
    assert says in error.message
    assert error.hint


def test_a_full_disk_is_reported_with_the_free_space(tmp_path):
    error = no_room_or(OSError(errno.ENOSPC, "No space left"), tmp_path / "not/yet/there")
    assert isinstance(error, NoRoomError)
    assert "MB are free" in error.message


def test_another_system_error_is_not_called_lack_of_room(tmp_path):
    original = OSError(errno.EIO, "I/O error")
    assert no_room_or(original, tmp_path) is original
