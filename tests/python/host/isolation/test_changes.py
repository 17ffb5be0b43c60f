"""Which files of a trial count as its output."""

import os
from pathlib import Path

import pytest

from mpiric.host.isolation.copying import manifest_of, walk, written_files


@pytest.fixture
def trial(tmp_path: Path):
    """A directory with an input; ``written`` names the files that are new or differ since."""
    directory = tmp_path / "trial"
    directory.mkdir()
    (directory / "in").write_text("input")
    os.utime(directory / "in", ns=(5, 5))
    before = manifest_of(walk(str(directory)))

    def written(skip=lambda _: False):
        return written_files(directory, before, skip)

    return directory, written


def test_a_new_trial_has_written_nothing(trial):
    _, written = trial
    assert written() == {}


def test_a_new_file_is_named_with_its_path(trial):
    directory, written = trial
    (directory / "deep").mkdir()
    (directory / "deep" / "out").write_bytes(b"result")
    assert written() == {"deep/out": directory / "deep/out"}


def test_a_file_written_anew_counts_whatever_is_in_it(trial):
    directory, written = trial
    (directory / "in").write_text("input")
    assert list(written()) == ["in"]


def test_links_and_removed_and_skipped_files_do_not_count(trial):
    directory, written = trial
    (directory / "in").unlink()
    (directory / "latest").symlink_to("in")
    (directory / "ours").mkdir()
    (directory / "ours" / "x").touch()
    assert written(lambda path: path.endswith("/ours")) == {}
