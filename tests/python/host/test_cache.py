"""Whole files in the user's cache directory, and who may read them."""

import os
from pathlib import Path

from mpiric.host import user_directories


def test_files_that_others_can_write_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    user_directories.write_cached(str(path), "text")
    assert user_directories.read_cached(str(path)) == "text"
    path.chmod(0o620)
    assert user_directories.read_cached(str(path)) is None
    assert user_directories.read_cached(str(tmp_path / "none")) is None


def test_without_a_home_nothing_is_kept() -> None:
    assert user_directories.cache_directory({}) == ""
    environ = {"XDG_CACHE_HOME": "relative", "HOME": "/home/u"}
    assert user_directories.cache_directory(environ) == "/home/u/.cache/mpiric"


def test_the_oldest_half_goes_when_there_are_too_many(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
        os.utime(tmp_path / str(number), (number, number))
    user_directories.make_room(str(tmp_path), 5)
    assert len(list(tmp_path.iterdir())) == 5
    user_directories.make_room(str(tmp_path), 4)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["2", "3", "4"]
