"""Copying trees entry by entry."""

import os
import socket
from pathlib import Path

import pytest

from mpiric.host.isolation.copying import close_directory, copy_entry, walk


@pytest.fixture
def copied(tmp_path: Path):
    """Copies tmp_path/source to tmp_path/target."""
    (tmp_path / "source" / "sub").mkdir(parents=True)
    (tmp_path / "target").mkdir()

    def copy() -> Path:
        source, target = tmp_path / "source", tmp_path / "target"
        entries = list(walk(str(source)))
        for entry in entries:
            copy_entry(entry, str(source), str(target))
        for entry in reversed(entries):
            if entry.is_dir:
                close_directory(entry, str(target))
        return target

    return copy


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "source"


def test_contents_mode_and_time_are_kept(copied, source):
    (source / "run.sh").write_bytes(b"#!/bin/sh\n")
    (source / "run.sh").chmod(0o754)
    os.utime(source / "run.sh", ns=(1, 123_456_789))
    status = (copied() / "run.sh").stat()
    assert (status.st_mode & 0o777, status.st_mtime_ns, status.st_size) == (0o754, 123_456_789, 10)


def test_a_file_longer_than_one_piece_is_whole(copied, source):
    data = os.urandom(5 << 20)
    (source / "data").write_bytes(data)
    assert (copied() / "data").read_bytes() == data


def test_holes_stay_holes(copied, source):
    with (source / "sparse").open("wb") as file:
        file.write(b"head")
        file.seek(64 << 20)
        file.write(b"tail")
        file.truncate(128 << 20)
    copy = copied() / "sparse"
    assert copy.stat().st_size == 128 << 20
    assert copy.stat().st_blocks * 512 < 1 << 20
    with copy.open("rb") as file:
        file.seek(64 << 20)
        assert file.read(4) == b"tail"


def test_a_relative_link_inside_the_tree_points_into_the_copy(copied, source):
    (source / "sub" / "link").symlink_to("../in")
    (source / "in").write_text("x")
    assert (copied() / "sub" / "link").resolve().parent.name == "target"


def test_a_relative_link_out_of_the_tree_still_finds_its_file(copied, source):
    (source.parent / "outside").write_text("far")
    (source / "sub" / "link").symlink_to("../../outside")
    assert (copied() / "sub" / "link").read_text() == "far"


def test_an_absolute_link_into_the_tree_points_into_the_copy(copied, source):
    (source / "in").write_text("x")
    (source / "sub" / "link").symlink_to(source / "in")
    assert str((copied() / "sub" / "link").readlink()) == "../in"


def test_an_absolute_link_elsewhere_is_kept(copied, source):
    (source / "link").symlink_to("/etc/passwd")
    assert str((copied() / "link").readlink()) == "/etc/passwd"


def test_a_link_to_nowhere_is_kept(copied, source):
    (source / "link").symlink_to("nothing")
    assert str((copied() / "link").readlink()) == "nothing"


def test_special_files_are_left_out(copied, source):
    os.mkfifo(source / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(source / "s"))
    assert sorted(path.name for path in copied().iterdir()) == ["sub"]


def test_files_in_a_read_only_directory_are_copied(copied, source):
    (source / "sub" / "x").write_text("x")
    (source / "sub").chmod(0o555)
    target = copied()
    assert (target / "sub" / "x").read_text() == "x"
    assert (target / "sub").stat().st_mode & 0o777 == 0o555
