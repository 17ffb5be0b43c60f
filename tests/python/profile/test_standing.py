from dataclasses import replace

from tests.support.records import WORLD, cell, rank, record

from mpiric.model.record import CommunicatorRow, OpenCall, ProcessState, RankState
from mpiric.profile.standing import Standing, standings

NOW_S = 5.0


def running(number: int, call: OpenCall | None = None, *cells, **changed: object):
    rows = (replace(WORLD, size=3, rank=number),)
    values = {"state": RankState.RUNNING, "call": call, "communicators": rows, "left_unix_s": 1.0, **changed}
    return rank(number, 4.0, *cells, **values)


def call(function: str, **fields: object) -> OpenCall:
    return OpenCall(function, 1.0, 0, **{"communicator": 0, **fields})


def standing_of(number: int, *ranks, world_size: int = 3) -> Standing:
    return standings(record(*ranks, world_size=world_size), NOW_S)[number]


def test_a_collective_waits_for_members_that_have_entered_fewer():
    entered = [running(at, call("MPI_Allreduce"), cell("MPI_Allreduce", 7, 8, 1.0)) for at in (0, 1)]
    late = running(2, None, cell("MPI_Allreduce", 7, 8, 1.0))
    standing = standing_of(0, *entered, late)
    assert (standing.waits_for, standing.on, standing.lasted_s) == ({2}, "MPI_COMM_WORLD", 4.0)


def test_ranks_of_a_collective_that_all_have_entered_wait_for_nobody():
    ahead = running(2, None, cell("MPI_Allreduce", 8, 8, 1.0))
    entered = [running(at, call("MPI_Allreduce"), cell("MPI_Allreduce", 7, 8, 1.0)) for at in (0, 1)]
    assert standing_of(1, *entered, ahead).waits_for == set()


def test_another_collective_at_the_same_time_is_waited_for():
    ranks = [
        running(0, call("MPI_Allreduce")),
        running(1, call("MPI_Barrier")),
        running(2, call("MPI_Barrier")),
    ]
    (first, second, _) = standings(replace(record(*ranks), function_classes={
        "MPI_Allreduce": "collective", "MPI_Barrier": "collective"}), NOW_S)  # fmt: skip
    assert first.waits_for == {1, 2}
    assert second.waits_for == {0}


def test_a_rank_without_a_record_has_not_entered():
    standing = standing_of(0, running(0, call("MPI_Allreduce")), running(1, call("MPI_Allreduce")))
    assert standing.waits_for == {2}
    assert not standing_of(2, running(0), running(1)).has_record


def test_incomplete_counts_mean_nothing():
    full = running(1, None, lost={"cells": 3})
    assert standing_of(1, full, running(0, call("MPI_Allreduce"))).waits_for == set()


def test_peers_are_ranks_of_the_world():
    half = CommunicatorRow(7, 0, 2, 0, 0, False, False, False, "half")
    rows = (replace(WORLD, size=3), half), (replace(WORLD, size=3, rank=2), replace(half, rank=1))
    sender = running(0, call("MPI_Send", communicator=1, peer=1, bytes=8), communicators=rows[0])
    standing = standing_of(0, sender, running(1), running(2, communicators=rows[1]))
    assert (standing.waits_for, standing.amount, standing.toward) == ({2}, "8 bytes", "to 2")


def test_a_receive_from_any_rank_needs_one_of_them():
    standing = standing_of(0, running(0, call("MPI_Recv", peer=-2, tag=-1)), running(1), running(2))
    assert (standing.waits_for, standing.any_of, standing.toward) == ({1, 2}, True, "from any rank")


def test_ranks_beyond_an_intercommunicator_are_unknown():
    row = CommunicatorRow(7, 0, 1, 0, 2, False, True, False, "")
    standing = standing_of(0, running(0, call("MPI_Recv", peer=1), communicators=(row,)), running(1))
    assert standing.waits_for == set()
    assert standing.toward == "from rank 1 of intercommunicator of 1"


def test_a_wait_needs_the_ranks_of_its_requests():
    started = (call("MPI_Irecv", peer=1), call("MPI_Isend", peer=2, bytes=8))
    wait = call("MPI_Waitall", communicator=None, requests=2, started=started)
    classes = {"MPI_Irecv": "receive", "MPI_Isend": "send", "MPI_Waitall": "wait"}
    ranks = replace(record(running(0, wait), running(1), running(2)), function_classes=classes)
    standing = standings(ranks, NOW_S)[0]
    assert standing.waits_for == {1, 2}
    assert standing.toward == "2 requests: MPI_Irecv from 1, MPI_Isend to 2"


def test_a_wait_for_any_of_unknown_requests_is_unknown():
    wait = call("MPI_Waitany", communicator=None, requests=5, started=(call("MPI_Irecv", peer=1),))
    assert standing_of(0, running(0, wait), running(1), running(2)).waits_for == set()


def test_a_rank_in_finalize_waits_for_the_others():
    alive = ProcessState("S")
    ended = running(0, None, state=RankState.FINALIZED, process=alive)
    assert standing_of(0, ended, running(1), running(2)).waits_for == {1, 2}
    assert standing_of(0, replace(ended, process=None), running(1), running(2)).waits_for == set()


def test_a_polling_rank_is_in_no_call():
    standing = standing_of(0, running(0, polls="MPI_Test"), running(1), running(2))
    assert (standing.call, standing.polls, standing.lasted_s) == ("", "MPI_Test", 4.0)
