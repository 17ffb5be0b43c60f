"""Pace of a run from the records of its ranks: calls of each kind and their times."""

import pytest
from tests.support.records import WORLD, rank, record

from mpiric.model.pace import KeyPace, MarkKey
from mpiric.model.record import CommunicatorRow
from mpiric.profile.pace import read_pace, run_pace

FACTS = {"module.5000": "/opt/app/bin/lmp", "module.9000": "/usr/lib/libmpi.so", "module.zz": "no"}
NAMES = ["MPI_Send", "MPI_Allreduce"]
HALF = CommunicatorRow(5, 0, 1, 0, 0, False, False, False, "half")
WINDOW = CommunicatorRow(99, 0, 2, 0, 0, True, False, True, "")
BETWEEN = CommunicatorRow(7, 0, 2, 0, 2, False, True, False, "")
COPY = CommunicatorRow(99, 1, 2, 0, 0, False, False, True, "copy")
ROWS = (WORLD, HALF, WINDOW, BETWEEN, COPY)


def keys(rows, times_s=(), communicators=ROWS, *, gathered=False):
    return list(read_pace(rows, times_s, NAMES, communicators, FACTS, gathered=gathered))


def row(communicator=0, *, address=0x5042, function=1, calls=3, stride=1, times_kept=3):
    return (address, function, communicator, calls, calls + 1, stride, times_kept)


def test_a_key_is_function_place_and_the_communicator_by_size_and_birth():
    (call_key,) = keys([row(4)], [[0.1, 0.2, 0.3, 0.0]])
    assert call_key == KeyPace(MarkKey("MPI_Allreduce", "lmp+0x42", 2, 1), 3, 1, (0.1, 0.2, 0.3))


@pytest.mark.parametrize("communicator", [2, 3, 65535], ids=["window", "between", "none"])
def test_an_intercommunicator_has_no_key(communicator):
    assert keys([row(communicator)]) == []


def test_a_merged_communicator_has_no_key():
    assert [call_key.key.birth for call_key in keys([row(0), row(4)], gathered=True)] == [0]


def test_a_place_in_no_known_file_is_empty():
    assert keys([row(address=0x10)])[0].key.place == ""


def test_ranks_whose_times_are_not_kept_still_count():
    assert keys([row()], [])[0] == KeyPace(MarkKey("MPI_Allreduce", "lmp+0x42", 2, 0), 3, 1, ())


def test_times_end_where_a_running_rank_was_just_dropping_some():
    assert keys([row(times_kept=4)], [[0.1, 0.3, 0.2, 0.4]])[0].times_s == (0.1, 0.3)


@pytest.mark.parametrize("damaged", [row(function=2), row(stride=0)])
def test_a_damaged_row_is_refused(damaged):
    with pytest.raises(ValueError, match="is inconsistent"):
        keys([damaged])


def test_a_run_under_way_is_seen_up_to_its_latest_timed_call():
    pace = KeyPace(MarkKey("MPI_Send", "", 2, 0), 9, 4, (0.5, 2.5, 4.5))
    run = run_pace(record(rank(0, 3.0, pace=(pace,)), rank(1, 3.0)))
    assert [(rank_pace.rank, rank_pace.seen_s) for rank_pace in run.ranks] == [(0, 4.5), (1, 3.0)]
    assert (run.world_size, run.first_rank.keys) == (2, (pace,))
