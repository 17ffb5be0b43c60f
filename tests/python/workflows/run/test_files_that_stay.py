"""Files that a layout comes too late for are named."""

import pytest

from mpiric.workflows.run.files_that_stay import files_that_stay


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("out/dump.2", "out/dump.1", "own.7", "in.dat"):
        (tmp_path / name).touch()
    return str(tmp_path)


@pytest.mark.parametrize(
    ("value", "which"),
    [
        ("out/:4x1MiB", "dump.1 and 1 more are"),
        ("own.*:4x1MiB", "own.7 is"),
        ("own.*:4x1MiB;out/:1x1MiB", "dump.1 and 2 more are"),
    ],
)
def test_a_file_that_is_there_keeps_its_layout(value, which, place):
    assert files_that_stay(value, place) == [
        f"{which} there already: a file keeps the layout that it was made with"
    ]


@pytest.mark.parametrize("value", ["4x1MiB", "none/:4x1MiB", "dump.*:4x1MiB"])
def test_where_none_is_there_nothing_is_said(value, place):
    assert files_that_stay(value, place) == []
