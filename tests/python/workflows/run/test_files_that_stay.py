"""Files that a layout comes too late for are named."""

from pathlib import Path

import pytest

from mpiric.workflows.run.collectives import files_that_stay


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("out/dump.2", "out/dump.1", "own.7", "in.dat"):
        (tmp_path / name).touch()
    return str(tmp_path)


@pytest.mark.parametrize(
    ("value", "which"),
    [
        ("out/:4x1MiB", "dump.1 and 1 more file exist"),
        ("own.*:4x1MiB", "own.7 exists"),
        ("own.*:4x1MiB;out/:1x1MiB", "dump.1 and 2 more files exist"),
    ],
)
def test_an_existing_file_keeps_its_layout(value, which, place):
    (kept_sentence,) = files_that_stay(value, place)
    sentence, hint = kept_sentence.split("\nhint: ")
    assert sentence == f"{which} already: an existing file keeps its layout"
    assert "`cp FILE COPY && mv COPY FILE`" in hint


def test_a_name_with_a_newline_is_printed_on_one_line(place):
    (Path(place) / "own.\n7").touch()
    (Path(place) / "own.7").unlink()
    assert files_that_stay("own.*:4x1MiB", place)[0].startswith("own.\\n7 ")


def test_a_link_counts_where_it_leads_to_a_file(place):
    (Path(place) / "link.1").symlink_to("own.7")
    (Path(place) / "link.2").symlink_to("nowhere")
    (sentence,) = files_that_stay("link.*:4x1MiB", place)
    assert sentence.startswith("link.1 ")


@pytest.mark.parametrize("value", ["4x1MiB", "none/:4x1MiB", "dump.*:4x1MiB"])
def test_without_existing_files_nothing_is_reported(value, place):
    assert files_that_stay(value, place) == []
