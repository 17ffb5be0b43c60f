"""Removing trial areas: the parent directory and files of other users stay as they are."""

import os
import stat

import pytest
from tests.support.users import USERS

from mpiric.host.isolation.trial_area import PREFIX, sweep
from mpiric.host.owned_files import remove_tree

pytestmark = pytest.mark.requires(*USERS)

# An area whose mpiric is dead, in the directory $1, under the name $2.
STALE = f"""
import os, sys
from pathlib import Path
from mpiric.host.isolation import trial_area
area = Path(sys.argv[1]) / ("{PREFIX}" + sys.argv[2])
(area / "tree/inner").mkdir(parents=True)
(area / "owner").write_text(trial_area._identity(os.getpid()).rsplit(" ", 1)[0] + " 1")
"""
SWEEP = """
import sys
from pathlib import Path
from mpiric.host.isolation.trial_area import sweep
sweep(Path(sys.argv[1]))
"""


def state(path):
    """Return the properties of a directory that a clean-up must not change."""
    status = path.stat()
    return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns


def test_a_stale_area_is_removed_and_the_project_directory_stays_as_it_was(people):
    project = people.machine.project
    people.owner.python(STALE, project, "old")
    (project / f"{PREFIX}old/tree/inner").chmod(0)
    before = state(project)
    people.owner.python(SWEEP, project)
    assert list(project.iterdir()) == []
    assert state(project) == before


def test_an_area_that_cannot_be_removed_leaves_the_project_directory_as_it_was(people):
    project = people.machine.project
    people.owner.python(STALE, project, "old")
    held = project / f"{PREFIX}old/tree/held"
    held.mkdir(mode=0o700)
    (held / "file").write_text("of another user")
    before = state(project)
    people.owner.python(SWEEP, project)
    assert (held / "file").exists()
    assert state(project) == before


def test_areas_of_other_users_and_links_are_left_alone(people):
    project = people.machine.project
    people.other.python(STALE, project, "other")
    precious = people.owner.home / "precious"
    people.owner.run("mkdir", "-p", precious / "tree", check=True)
    people.owner.python(STALE, precious, "real")
    link = project / f"{PREFIX}link"
    people.other.run("ln", "-s", precious / f"{PREFIX}real", link, check=True)
    people.owner.python(SWEEP, project)
    assert (project / f"{PREFIX}other/tree/inner").is_dir()
    assert link.is_symlink()
    assert (precious / f"{PREFIX}real/tree/inner").is_dir()


def test_root_follows_no_link_that_a_user_planted(people):
    project, outside = people.machine.project, people.machine.base / "outside"
    (outside / "directory").mkdir(parents=True)
    outside.chmod(0o2770)
    people.owner.python(STALE, project, "mine")
    people.owner.run("ln", "-s", outside, project / f"{PREFIX}link", check=True)
    people.owner.run("ln", "-s", outside / "directory", project / f"{PREFIX}mine/tree/link", check=True)
    before = state(outside)
    sweep(project)
    assert state(outside) == before
    assert (outside / "directory").is_dir()
    assert (project / f"{PREFIX}mine").is_dir()  # the user's own, for the user to remove


def test_links_inside_an_area_are_removed_and_their_targets_stay(tmp_path):
    outside, area = tmp_path / "outside", tmp_path / f"{PREFIX}area"
    (outside / "kept").mkdir(parents=True)
    outside.chmod(0o500)
    (area / "closed").mkdir(parents=True)
    (area / "closed/link").symlink_to(outside)
    (area / "closed").chmod(0)
    before = state(outside)
    remove_tree(area)
    assert not area.exists()
    assert (outside / "kept").is_dir()
    assert state(outside) == before


def test_an_area_whose_owner_file_is_a_fifo_does_not_stop_the_sweep(people):
    project = people.machine.project
    area = project / f"{PREFIX}fifo"
    people.owner.run("mkdir", area, check=True)
    people.owner.run("mkfifo", area / "owner", check=True)
    people.owner.python(SWEEP, project, timeout=60)
    assert area.is_dir()


def test_a_directory_of_another_owner_in_a_private_one_is_removed(tmp_path):
    """Check as root that a trial directory has the owner of the user's own directory."""
    tmp_path.chmod(0o700)
    inner = tmp_path / "upper"
    (inner / "file").parent.mkdir()
    (inner / "file").touch()
    os.chown(inner, 47101, 47101)
    remove_tree(inner)
    assert not inner.exists()
