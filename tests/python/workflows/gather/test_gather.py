"""`mpiric gather`: spread files go back, and nothing is ever replaced."""

import os
import socket

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


def test_a_file_that_is_there_stays_and_is_named(out):
    (out / "a.2").write_text("newer")
    gathered = gather(out)
    assert gathered.left == ((str(out / "mpiric-spread/03/a.2"), f"{out / 'a.2'} is there already"),)
    assert contents(out) == {"a.1": "1", "a.2": "newer"}
    assert (out / "mpiric-spread/03/a.2").read_text() == "2"


def test_an_interrupted_gather_is_begun_again(out):
    os.link(out / "mpiric-spread/03/a.2", out / "a.2")
    assert gather(out).left == ()
    assert contents(out) == {"a.1": "1", "a.2": "2"}


def test_without_hard_links_files_are_renamed(out, monkeypatch):
    def refuse(_self, _target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("pathlib.Path.hardlink_to", refuse)
    assert gather(out).left == ()
    assert contents(out) == {"a.1": "1", "a.2": "2"}


def test_where_nothing_is_spread_a_sentence_says_so(tmp_path):
    with pytest.raises(NotFoundError, match="no files are spread"):
        gather(tmp_path)


def test_a_manifest_of_another_version_is_left_alone(out):
    (out / "mpiric-spread/manifest").write_text("mpiric spread 2\n")
    with pytest.raises(MpiricError, match="of no version"):
        gather(out)
    assert contents(out) == {}


@pytest.fixture
def left(tmp_path):
    """A directory with a link in place of `dump.0`, and the path of its bytes on the node's disk."""
    local = tmp_path / "disk/mpiric-local-1000" / f"{socket.gethostname()}.999999999-0123abcd.0"
    local.parent.mkdir(parents=True)
    local.write_text("whole")
    own = tmp_path / "run/dump.0"
    own.parent.mkdir()
    own.symlink_to(local)
    (own.parent / f".mpiric-copy.{local.name}").write_text("who")
    return own, local


def test_a_file_that_a_killed_run_has_left_on_its_node_comes_to_its_place(left):
    own, local = left
    assert gather(own.parent).moved == (str(own),)
    assert (own.is_symlink(), own.read_text(), local.exists()) == (False, "whole", False)
    assert contents(own.parent) == {"dump.0": "whole"}


def test_a_file_on_another_node_stays_and_the_node_is_named(left):
    own, local = left
    local.unlink()
    ((path, reason),) = gather(own.parent).left
    assert path == str(own)
    assert f"on the node {socket.gethostname()}" in reason
    assert own.is_symlink()


def test_a_file_that_is_still_being_written_stays(left):
    own, local = left
    running = local.with_name(local.name.replace("999999999", str(os.getpid())))
    local.rename(running)
    own.unlink()
    own.symlink_to(running)
    assert gather(own.parent).left == ((str(own), "the program that writes it still runs"),)
    assert own.read_text() == "whole"


def test_a_place_that_is_full_keeps_the_link_and_the_bytes(left, monkeypatch):
    def fail(_from, _to):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copy2", fail)
    own, local = left
    assert gather(own.parent).left == ((str(own), "No space left on device"),)
    assert local.read_text() == own.read_text() == "whole"


def test_other_links_are_not_touched(left, tmp_path):
    own, _ = left
    (own.parent / "latest").symlink_to(tmp_path / "disk")
    (own.parent / "broken").symlink_to("nowhere")
    assert gather(own.parent).moved == (str(own),)
    assert (own.parent / "latest").is_symlink()
    assert (own.parent / "broken").is_symlink()
