"""Directories in which a library answers to another name."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from mpiric.host.installation import stand_ins
from mpiric.host.installation.stand_ins import linked_directory


@pytest.fixture
def target(tmp_path: Path) -> str:
    (tmp_path / "libmpich.so.12").write_text("library")
    return str(tmp_path / "libmpich.so.12")


def link_directory(tmp_path: Path, target: str) -> Path:
    links = {"libmpi.so.12": target}
    return Path(linked_directory("mpich-4.0.2", links, {"XDG_DATA_HOME": str(tmp_path / "data")}))


def test_the_library_is_found_under_the_other_name(tmp_path, target):
    assert (link_directory(tmp_path, target) / "libmpi.so.12").read_text() == "library"


def test_the_directory_is_the_same_the_next_time(tmp_path, target):
    assert link_directory(tmp_path, target) == link_directory(tmp_path, target)


def test_a_library_of_the_same_label_elsewhere_gets_a_directory_of_its_own(tmp_path, target):
    assert link_directory(tmp_path, target) != link_directory(tmp_path, "/opt/mpich/lib/libmpich.so.12")


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: (path.unlink(), path.write_text("rubbish"))])
def test_a_damaged_link_is_repaired(tmp_path, target, damage):
    damage(link_directory(tmp_path, target) / "libmpi.so.12")
    assert str((link_directory(tmp_path, target) / "libmpi.so.12").readlink()) == target


def test_a_directory_of_links_holds_only_them(tmp_path, target):
    assert [path.name for path in link_directory(tmp_path, target).iterdir()] == ["libmpi.so.12"]


def test_a_home_that_cannot_be_written_gives_way_to_the_temporary_directory(tmp_path, target, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    directory = linked_directory("mpich-4.0.2", {"libmpi.so.12": target}, {"HOME": "/proc/no-home"})
    assert Path(directory).is_relative_to(tmp_path)
    assert str((Path(directory) / "libmpi.so.12").readlink()) == target


def test_a_temporary_directory_that_others_may_write_is_not_trusted(tmp_path, target, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"mpiric-{os.getuid()}").mkdir()
    (tmp_path / f"mpiric-{os.getuid()}").chmod(0o777)
    assert linked_directory("mpich-4.0.2", {"libmpi.so.12": target}, {"HOME": "/proc/no-home"}) == ""


def test_libraries_are_not_put_where_a_mount_forbids_to_load_them(tmp_path, monkeypatch):
    forbidden, allowed = tmp_path / "noexec", tmp_path / "other"
    monkeypatch.setattr(stand_ins, "bases", lambda _: (forbidden, allowed))
    flags = {forbidden: os.ST_NOEXEC | os.ST_NOSUID, allowed: os.ST_NOSUID}
    monkeypatch.setattr("os.statvfs", lambda path: SimpleNamespace(f_flag=flags[path]))
    assert tuple(stand_ins.library_bases({})) == (allowed,)
