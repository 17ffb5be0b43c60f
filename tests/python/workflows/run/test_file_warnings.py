"""Warnings of a run about conditions that defeat its settings of files."""

from dataclasses import replace

import pytest
from tests.support.situations import situation
from tests.support.written_files import lustre, writing

from mpiric.model.configuration import Configuration
from mpiric.workflows.run.collectives import file_warnings


class Files:
    """A host that has one file."""

    def __init__(self, text=""):
        self.text = text

    def read_text(self, _path):
        return self.text


def warnings(values, text="", **mount):
    case = writing(situation(inherited={"ROMIO_HINTS": "/home/u/hints"}), system=lustre(**mount))
    case = replace(case, observation=replace(case.observation, mpi_calls=frozenset({"mpi_file_open"})))
    sentences = list(file_warnings(Configuration.of(values), case, Files(text)))
    assert all(sentence.count("\nhint: ") == 1 for sentence in sentences)
    return [sentence.split("\n")[0] for sentence in sentences]


HINTS = {"mpi-io": "cb_nodes=2"}


@pytest.mark.parametrize("values", [HINTS, {"layout": "4x1MiB"}, {"hdf5": "align=1MiB"}])
def test_a_quota_that_is_used_up(values):
    (sentence,) = warnings(values, quota_free_bytes=0)
    assert sentence.startswith("your quota for the working directory is used up: ")
    assert "/home: 0 bytes left" in sentence


def test_a_mount_without_locks_for_mpi_io():
    (sentence,) = warnings(HINTS, locks="none")
    assert "/home (lustre) is mounted with no flock" in sentence


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#" * 4096, "ROMIO reads no more than 4095 bytes of its file of hints"),
        ("cb_nodes 4 5\n", "ROMIO silently drops lines of its file of hints that are not of two words"),
    ],
)
def test_a_file_of_hints_of_which_the_library_drops_some(text, says):
    (sentence,) = warnings(HINTS, text)
    assert sentence.startswith(f"{says} (ROMIO_HINTS=/home/u/hints: ")


@pytest.mark.parametrize("values", [{}, {"binding": "core"}])
def test_without_settings_on_files_nothing_is_reported(values):
    assert warnings(values, "cb_nodes 4 5\n", quota_free_bytes=0, locks="none") == []


def test_a_layout_does_not_ask_for_locks_or_hints():
    assert warnings({"layout": "4x1MiB"}, "cb_nodes 4 5\n", locks="none") == []
