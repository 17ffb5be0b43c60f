"""Entries of a user's file of hints that ROMIO silently ignores."""

import pytest
from tests.support.situations import situation

from mpiric.workflows.launch.findings import LONGEST_FILE, hint_file_findings


class Files:
    """A host that has one file, or none."""

    def __init__(self, text):
        self.text = text

    def read_text(self, _path):
        return self.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cb_nodes 4\n\n# mine\nromio_cb_write enable\n", []),
        ("cb_nodes 4 5\n", ["hint-file-lines"]),
        ("cb_nodes=4\n", ["hint-file-lines"]),
        ("#" * (LONGEST_FILE + 1), ["hint-file-cut"]),
        (None, ["hint-file-missing"]),
    ],
)
def test_ignored_hints_are_reported(text, expected):
    case = situation(inherited={"ROMIO_HINTS": "/home/u/hints"})
    assert [finding.id for finding in hint_file_findings(case, Files(text))] == expected


def test_without_a_hint_file_nothing_is_reported():
    assert not list(hint_file_findings(situation(), Files(None)))
