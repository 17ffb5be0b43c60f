"""File statistics of `mpiric profile`, for a program whose calls are known."""

import json
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("file_calls.c")
RANKS = 2


_FILES: dict[str, dict] = {}  # results of a single run by path, for all tests


@pytest.fixture
def profiled(run_mpiric, tmp_path_factory):
    if _FILES:
        return _FILES
    place = tmp_path_factory.mktemp("files")
    program = place / "file_calls"
    subprocess.run(["mpicc.mpich", "-o", program, SOURCE], check=True)
    (place / "out").mkdir()
    launch = ("mpiexec.mpich", "-n", str(RANKS), str(program), str(place / "out"))
    done = run_mpiric("profile", "--json", "-o", place / "p", "--", *launch)
    assert done.returncode == 0, done.stderr
    _FILES.update({file["path"]: file for file in json.loads(done.stdout)["io"]["files"]})
    return _FILES


pytestmark = pytest.mark.requires("debian-mpich")


def test_who_made_a_file_and_how_it_was_opened(profiled):
    file = profiled["strided"]
    assert (file["created_by"], file["ranks"], file["nodes"]) == (1, RANKS, 1)
    assert file["opened"] == ["create", "exclusive", "read", "write"]


def test_patterns_are_told_apart(profiled):
    assert (profiled["strided"]["pattern"], profiled["segmented"]["pattern"]) == ("strided", "segmented")
    assert profiled["strided"]["largest"] == 8192
    assert profiled["strided"]["bytes_written"] == RANKS * 10 * 8192


def test_locks_and_questions_are_counted_once(profiled):
    file = profiled["strided"]
    assert file["locks"] == 3 * RANKS
    opens, questions = 1 + RANKS, RANKS
    assert file["metadata"] == 3 * opens + questions  # an open counts as a call and as an open; closes
    assert profiled["(paths)"]["metadata"] == 2 * RANKS  # opendir, statx


def test_lines_stand_beside_flushes(profiled):
    assert (profiled["(stdout)"]["lines"], profiled["(stdout)"]["flushes"]) == (5 * RANKS, 5 * RANKS)


def test_a_file_without_a_layout_has_none(profiled):
    assert (profiled["strided"]["layout"], profiled["strided"]["ranks_in_one_stripe"]) == (None, None)
