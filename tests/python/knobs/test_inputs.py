"""Files that ranks only read: which are broadcast, and which are opened to read."""

from dataclasses import replace

import pytest
from tests.support.answers import skipped, values
from tests.support.situations import MPIS, situation
from tests.support.written_files import input_file, lustre, output, writing

from mpiric import knobs

MPICH = next(library for library in MPIS if library.label == "mpich-5.0.2")
BROADCAST = knobs.all_knobs()["broadcast-inputs"]


def case(*files, **more):
    return writing(situation(MPICH, ranks=8, nodes=4), *files, **more)


def test_files_read_by_all_ranks_are_broadcast_the_largest_first():
    large = input_file("tables/eos.bin", 8, bytes_read=1 << 30)
    some = input_file("patch.bin", 3)
    staged_case = case(input_file("in.data", 8), large, some, output("in.log", 8))
    assert values("broadcast-inputs", staged_case) == ("tables/eos.bin;in.data",)
    assert BROADCAST.settings("a;b/c", staged_case).environment == {"MPIRIC_BROADCAST": "a;b/c"}


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (input_file("in.data", 1), "by all ranks"),
        (input_file("in.data", 8, bytes_written=1), "by all ranks"),
        (input_file("/opt/tables", 8), "below the working directory"),
        (input_file("in.data", 8, opened=("create", "read")), "by all ranks"),
    ],
)
def test_other_files_are_read_where_they_are(file, reason):
    assert reason in BROADCAST.consider(case(file)).reason


def test_files_on_a_disk_of_the_node_are_read_there():
    staged_case = case(input_file("in.data", 8), system=replace(lustre(), is_network=False))
    assert "nodes share" in BROADCAST.consider(staged_case).reason


@pytest.mark.parametrize("value", ["", "/etc/passwd", "../a", "a;", ".", "a b"])
def test_no_path_leads_out_of_the_working_directory(value):
    assert not BROADCAST.domain.accepts(value)


def test_it_is_tried_with_the_users_leave_only():
    staged_case = case(input_file("in.data", 8))
    assert skipped("broadcast-inputs", staged_case) == "only tried with --allow-late"
    assert not skipped(
        "broadcast-inputs", replace(staged_case, allowed=replace(staged_case.allowed, late=True))
    )
