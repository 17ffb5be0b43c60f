"""`mpiric gather`: spread files go back, and nothing is ever replaced."""

import os

import pytest

from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.workflows.gather.gather import gather


@pytest.fixture
def out(tmp_path):
    for name, text in {"00/a.1": "1", "03/a.2": "2"}.items():
        path = tmp_path / "out/mpiric-spread" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tmp_path / "out/mpiric-spread/manifest").write_text("mpiric spread 1\na.* 4\n")
    return tmp_path / "out"


def contents(directory):
    return {path.name: path.read_text() for path in directory.iterdir() if path.is_file()}


def test_files_go_back_and_the_subdirectories_are_removed(out):
    assert gather(out.parent).moved == (str(out / "a.1"), str(out / "a.2"))
    assert contents(out) == {"a.1": "1", "a.2": "2"}
    assert not (out / "mpiric-spread").exists()


def test_an_existing_file_stays_and_is_named(out):
    (out / "a.2").write_text("newer")
    gathered = gather(out)
    assert gathered.remaining == ((str(out / "mpiric-spread/03/a.2"), "a file of this name exists already"),)
    assert contents(out) == {"a.1": "1", "a.2": "newer"}
    assert (out / "mpiric-spread/03/a.2").read_text() == "2"


def test_an_interrupted_gather_is_begun_again(out):
    os.link(out / "mpiric-spread/03/a.2", out / "a.2")
    assert gather(out).remaining == ()
    assert contents(out) == {"a.1": "1", "a.2": "2"}


def test_without_hard_links_files_are_renamed(out, monkeypatch):
    def refuse(*_names, **_directories):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    assert gather(out).remaining == ()
    assert contents(out) == {"a.1": "1", "a.2": "2"}


def test_where_nothing_is_spread_a_sentence_says_so(tmp_path):
    with pytest.raises(NotFoundError, match="no files are spread"):
        gather(tmp_path)


def test_a_manifest_of_another_version_is_left_alone(out):
    (out / "mpiric-spread/manifest").write_text("mpiric spread 2\n")
    with pytest.raises(MpiricError, match="of no version"):
        gather(out)
    assert contents(out) == {}
