"""Which files of a trial count as its output."""

import hashlib
import os
from pathlib import Path

import pytest

from mpiric.host.isolation.changes import changed_files, manifest_of
from mpiric.host.isolation.copying import walk


@pytest.fixture
def trial(tmp_path: Path):
    """A directory with a template; ``changes`` tells what differs since."""
    directory, template = tmp_path / "trial", tmp_path / "template"
    for place in (directory, template):
        place.mkdir()
        (place / "in").write_text("input")
        os.utime(place / "in", ns=(5, 5))
    before = manifest_of(walk(str(directory)))

    def changes(**options):
        return changed_files(directory, before, template, lambda _: False, **options)

    return directory, changes


def test_a_new_trial_has_no_changes(trial):
    _, changes = trial
    assert changes() == {}


def test_a_new_file_is_named_with_its_sha256(trial):
    directory, changes = trial
    (directory / "deep").mkdir()
    (directory / "deep" / "out").write_bytes(b"result")
    assert changes() == {"deep/out": hashlib.sha256(b"result").hexdigest()}


def test_a_file_written_anew_with_the_same_contents_has_not_changed(trial):
    directory, changes = trial
    (directory / "in").write_text("input")
    assert changes() == {}


def test_a_file_with_other_contents_of_the_same_length_has_changed(trial):
    directory, changes = trial
    (directory / "in").write_text("INPUT")
    assert list(changes()) == ["in"]


def test_a_removed_file_is_said_to_be_removed(trial):
    directory, changes = trial
    (directory / "in").unlink()
    assert changes() == {"in": "removed"}


def test_a_new_link_is_named_with_its_target(trial):
    directory, changes = trial
    (directory / "latest").symlink_to("in")
    assert changes() == {"latest": "link:in"}


def test_beyond_the_limit_only_the_size_counts(trial):
    directory, changes = trial
    (directory / "small").write_bytes(b"12")
    (directory / "large").write_bytes(b"x" * 100)
    found = changes(limit_bytes=50)
    assert found == {"small": hashlib.sha256(b"12").hexdigest(), "large": "size:100"}
