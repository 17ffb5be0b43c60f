"""Reading marks files: content, and files that are damaged, truncated or malicious."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.marks_files import doubles, marks_file

from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.pace import Crossing, MarkKey, MarksState, mark_option
from mpiric.profile import marks_layout as layout
from mpiric.profile.marks import MarksError, read_marks

CROSSINGS = ((1.5, 100, 4000), (4.0, 301, 12001))
KEY = MarkKey("MPI_Allreduce", "lmp+0x48f2", 4, 0)


def test_times_count_from_the_end_of_init(tmp_path):
    marks_file(tmp_path, crossings=CROSSINGS, finalized_s=6.0, times_s=(0.5, 1.0, 1.5), stride=4)
    (rank,) = read_marks(tmp_path).ranks
    assert (rank.init_s, rank.finalize_s, rank.begin_unix_s) == (0.25, 6.0, 1000.0)
    assert (rank.first, rank.last) == (Crossing(1.5, 100, 4000), Crossing(4.0, 301, 12001))
    assert (rank.times_s, rank.stride, rank.calls) == ((0.5, 1.0, 1.5), 4, 20)
    assert rank.state is MarksState.ENDED


def test_marks_that_never_came_are_none(tmp_path):
    marks_file(tmp_path, state=2)
    (rank,) = read_marks(tmp_path).ranks
    assert (rank.first, rank.last, rank.finalize_s) == (None, None, None)


def test_results_have_the_key_of_their_place_and_the_latest_numbers(tmp_path):
    marks_file(tmp_path, results=(doubles(1.5, -2.0), doubles(offset=0x10, results=3)))
    first, second = read_marks(tmp_path).ranks[0].results
    assert (first.key, first.results, first.digest, first.latest) == (KEY, 20, 0xABCD, (1.5, -2.0))
    assert (second.key.place, second.results, second.latest) == ("lmp+0x10", 3, ())


def test_results_on_communicators_beyond_the_room_share_a_key_of_no_size(tmp_path):
    fields = list(layout.RESULT.unpack(doubles(1.0)))
    fields[2] = layout.COMMUNICATOR_COUNT - 1
    marks_file(tmp_path, results=(layout.RESULT.pack(*fields),))
    assert read_marks(tmp_path).ranks[0].results[0].key == MarkKey("MPI_Allreduce", "lmp+0x48f2", 0, 0)


def test_of_a_long_result_the_kept_numbers_are_read(tmp_path):
    fields = list(layout.RESULT.unpack(doubles(*range(16))))
    fields[8] = 256  # bytes of the result
    longer = layout.RESULT.pack(*fields)
    marks_file(tmp_path, results=(longer,))
    assert read_marks(tmp_path).ranks[0].results[0].latest == tuple(range(16))


def test_flags_have_names(tmp_path):
    marks_file(tmp_path, flags=1 | 64)
    assert read_marks(tmp_path).ranks[0].flags == {"thread_multiple", "flush_failed"}


def test_a_file_of_times_alone_has_no_tables(tmp_path):
    marks_file(tmp_path, has_tables=False, finalized_s=2.0)
    (rank,) = read_marks(tmp_path).ranks
    assert (rank.finalize_s, rank.results) == (2.0, ())


def test_ranks_are_in_order_and_those_missing_are_named(tmp_path):
    marks_file(tmp_path, 2, world=4)
    marks_file(tmp_path, 0, world=4)
    run = read_marks(tmp_path)
    assert [rank.rank for rank in run.ranks] == [0, 2]
    assert (run.missing, run.world_size, run.mark) == ((1, 3), 4, "MPI_Allreduce@lmp+0x48f2@4.0:10,20")


def test_of_two_launches_the_newest_counts_and_both_are_noticed(tmp_path):
    marks_file(tmp_path, job=7, begun_s=1000.0, finalized_s=1.0)
    marks_file(tmp_path, job=8, begun_s=2000.0, finalized_s=9.0)
    run = read_marks(tmp_path)
    assert (run.ranks[0].finalize_s, len(run.ranks), run.runs) == (9.0, 1, 2)


def test_a_directory_without_marks_says_so(tmp_path):
    with pytest.raises(NotFoundError, match="no rank wrote marks"):
        read_marks(tmp_path)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (KEY, "MPI_Allreduce@lmp+0x48f2@4.0:10,20"),
        (MarkKey("MPI_Isend", "", 2, 3), "MPI_Isend@*@2.3:10,20"),
        (MarkKey("MPI_Isend", "", 0, 0), "MPI_Isend@*@*:10,20"),
        (None, "main"),
    ],
)
def test_a_mark_is_asked_for_as_the_format_says(key, text):
    assert mark_option(key, 10, 20) == text


@pytest.mark.parametrize("length", [0, 7, 8, 100, layout.HEAD.size - 1, layout.HEAD.size, 2000])
def test_a_file_cut_short_is_one_sentence(tmp_path, length):
    path = marks_file(tmp_path, crossings=CROSSINGS, results=(doubles(1.0),))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(MarksError, match="is not a usable marks file"):
        read_marks(tmp_path)


def test_another_version_is_refused(tmp_path):
    path = marks_file(tmp_path)
    path.write_bytes(path.read_bytes()[:8] + b"\x63" + path.read_bytes()[9:])
    with pytest.raises(MarksError, match="version 99, this mpiric reads 1"):
        read_marks(tmp_path)


@pytest.mark.parametrize("module", [1, 2**32 - 1])
def test_a_result_from_no_file_is_refused(tmp_path, module):
    marks_file(tmp_path, results=(doubles(1.0, module=module),))
    with pytest.raises(MarksError, match="refers to an unknown module"):
        read_marks(tmp_path)


@settings(max_examples=300, deadline=None)
@given(edits=st.lists(st.tuples(st.integers(0, 4000), st.binary(min_size=1, max_size=8)), max_size=6))
def test_any_content_is_read_or_refused_in_one_sentence(tmp_path_factory, edits):
    directory: Path = tmp_path_factory.mktemp("marks")
    path = marks_file(directory, crossings=CROSSINGS, results=(doubles(1.0), doubles(2.0)), times_s=(0.1,))
    data = bytearray(path.read_bytes())
    for at, piece in edits:
        data[at : at + len(piece)] = piece
    path.write_bytes(bytes(data))
    with contextlib.suppress(MpiricError):
        read_marks(directory)
