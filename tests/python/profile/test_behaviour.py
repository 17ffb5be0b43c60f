"""Behaviour of a program from its record; bounds come from the rank with the largest share, not the mean."""

from dataclasses import replace
from math import inf

import pytest
from tests.support.records import CLASSES, cell, rank, record, sent

from mpiric.model.profile import Behaviour, Carriers, MessageSizes
from mpiric.model.record import CommunicatorRow
from mpiric.profile.analyse import analyse
from mpiric.profile.behaviour import behaviour_of, merged

KIB = 1 << 10
ANYBODY = Carriers()
KINDS = {**CLASSES, "MPI_Isend": "send", "MPI_Wait": "wait", "MPI_Iallreduce": "collective"}
ALONE = CommunicatorRow(7, 1, 1, 0, 0, False, False, False, "MPI_COMM_SELF")


def behaviour(*ranks, carriers=ANYBODY, run_s=0.0, huge_pages=False):
    run_record = replace(record(*ranks), function_classes=KINDS)
    return behaviour_of(run_record, analyse(run_record), carriers, run_s, huge_pages=huge_pages)


def sender(number, *cells, to, host="n1", messages=10, **changed):
    facts = {"host": host, "affinity": str(number), **changed.pop("facts", {})}
    return rank(number, 10.0, *cells, peers=(sent(to, messages, messages * 1000),), facts=facts, **changed)


def test_a_bound_is_the_share_of_the_rank_that_spends_most():
    busy, idle = cell("MPI_Send", 10, 10 * KIB, 3.0), cell("MPI_Send", 10, 10 * KIB, 0.1)
    result = behaviour(sender(0, busy, to=1), sender(1, idle, to=0))
    assert result.numbers["mpi_bound"] == pytest.approx(0.3)
    assert result.numbers["node_message_bound"] == pytest.approx(0.3)
    assert result.numbers["own_bound"] == pytest.approx(0.99)


def test_messages_go_as_far_as_their_receivers_are():
    near = cell("MPI_Send", 10, 10 * KIB, 1.0)
    apart = behaviour(sender(0, near, to=1), sender(1, near, to=0, host="n2"))
    assert apart.numbers["network_bound"] == pytest.approx(0.1)
    assert apart.numbers["node_message_bound"] == 0.0
    assert apart.numbers["nodes"] == 2
    together = behaviour(sender(0, near, to=1), sender(1, near, to=0))
    assert together.numbers["network_bound"] == 0.0
    assert [size.messages for size in together.sizes["node"]] == [20]


def test_who_sends_to_another_world_may_send_anywhere():
    out = cell("MPI_Send", 10, 10 * KIB, 1.0)
    result = behaviour(sender(0, out, to=None), rank(1, 10.0))
    assert result.sizes["node"]
    assert not result.sizes["network"]  # one node uses no network


def test_a_collective_of_one_node_may_do_without_messages():
    call = cell("MPI_Allreduce", 5, 5 * 512 * KIB, 8.0)
    by_messages = behaviour(rank(0, 10.0, call), rank(1, 10.0, call))
    assert by_messages.numbers["node_message_bound"] == pytest.approx(0.8)
    assert by_messages.numbers["largest_node_message_bytes"] == 512 * KIB
    shared = Carriers(without_messages=frozenset({"allreduce"}))
    in_memory = behaviour(rank(0, 10.0, call), rank(1, 10.0, call), carriers=shared)
    assert in_memory.numbers["node_message_bound"] == 0.0
    assert in_memory.sizes["node"] == ()
    assert in_memory.numbers["allreduce_bound"] == pytest.approx(0.8)


def test_collectives_are_counted_by_name_size_and_communicator():
    call = cell("MPI_Allreduce", 5, 5 * KIB, 2.0, size_bin=11)
    result = behaviour(rank(0, 10.0, call), rank(1, 10.0, call))
    (only,) = result.collectives
    assert (only.name, only.ranks, only.low_bytes, only.high_bytes, only.calls) == (
        "allreduce",
        2,
        1024,
        2047,
        5,
    )
    assert result.numbers["allreduce_calls"] == 5
    assert result.numbers["alltoall_calls"] == result.numbers["alltoall_bound"] == 0


def test_a_collective_of_a_rank_with_itself_is_none():
    call = cell("MPI_Allreduce", 5, 5 * KIB, 2.0)
    result = behaviour(rank(0, 10.0, call, communicators=(ALONE,)))
    assert result.numbers["collective_calls"] == result.numbers["collective_bound"] == 0


def test_nonblocking_collectives_take_their_time_in_waiting():
    cells = (cell("MPI_Iallreduce", 5, 5 * KIB, 0.1), cell("MPI_Wait", 5, 0, 4.0))
    result = behaviour(rank(0, 10.0, *cells), rank(1, 10.0, *cells))
    assert result.numbers["allreduce_bound"] == pytest.approx(0.41)


@pytest.mark.parametrize(
    ("facts", "huge_pages", "bound"),
    [
        ({"time.system_us": "5000000", "faults.minor": "500000"}, False, 0.25),
        ({"time.system_us": "5000000", "faults.minor": "100"}, False, 0.00005),
        ({"time.system_us": "5000000", "faults.minor": "100"}, True, 0.005),
        ({"time.system_us": "10000", "faults.minor": "2000000"}, False, 0.001),
        ({}, False, 1.0),  # a record that does not tell allows everything
    ],
)
def test_page_faults_take_no_more_than_the_kernel_does(facts, huge_pages, bound):
    always = {"host": "n1", "time.user_us": "10000000"}
    result = behaviour(rank(0, 10.0, facts={**always, **facts}), huge_pages=huge_pages)
    assert result.numbers["fault_bound"] == pytest.approx(bound)


def test_the_allocator_takes_twice_its_calls_of_the_whole_process_or_of_main():
    calls = {"allocator.us": "1000000", "before.allocator_us": "500000", "before.user_us": "2000000"}
    assert behaviour(rank(0, 10.0, facts=calls)).numbers["allocator_bound"] == pytest.approx(0.25)
    late = {**calls, "before.allocator_us": "0"}
    assert behaviour(rank(0, 10.0, facts=late)).numbers["allocator_bound"] == pytest.approx(0.2)
    assert behaviour(rank(0, 10.0)).numbers["allocator_bound"] == 1.0  # nobody counted


def test_messages_are_distinguished_by_how_far_they_go():
    def on(numa):
        return {"host": "n1", "numa_node": numa}

    result = behaviour(
        rank(0, 1.0, peers=(sent(1, 1, 100), sent(2, 1, 200), sent(3, 1, 700)), facts=on("0")),
        rank(1, 1.0, facts=on("0")),
        rank(2, 1.0, facts=on("1")),
        rank(3, 1.0, facts={"host": "n2", "numa_node": "0"}),
    )
    shares = {reach: result.numbers[f"{reach}_share"] for reach in ("same_numa", "same_node", "other_node")}
    assert shares == pytest.approx({"same_numa": 0.1, "same_node": 0.2, "other_node": 0.7})


def test_the_cost_of_a_fault_comes_from_the_record():
    facts = {"host": "n1", "time.user_us": "9000000", "time.system_us": "1000000", "faults.minor": "100000"}
    cheap = behaviour(rank(0, 10.0, facts={**facts, "fault_ns": "250"}))
    dear = behaviour(rank(0, 10.0, facts={**facts, "fault_ns": "3000"}))
    assert cheap.numbers["fault_bound"] == pytest.approx(0.005)
    assert dear.numbers["fault_bound"] == pytest.approx(0.06)


def test_bounds_of_process_wide_settings_include_the_time_before_mpi():
    busy = {"before.user_us": "5000000", "before.system_us": "5000000", "before.minor_faults": "1000000"}
    facts = {"host": "n1", "time.user_us": "9990000", "time.system_us": "10000", "faults.minor": "100"}
    result = behaviour(rank(0, 10.0, cell("MPI_Send", 1, 8, 9.9), facts={**facts, **busy}))
    assert result.numbers["fault_bound"] == pytest.approx(5.0005 / 20, rel=0.01)
    assert result.numbers["own_bound"] == pytest.approx(10.1 / 20)


def test_a_rank_that_others_kept_from_its_cpu_is_judged_by_the_time_it_got():
    facts = {"time.user_us": "500000", "time.system_us": "500000", "faults.minor": "250000"}
    result = behaviour(rank(0, 10.0, facts={"host": "n1", **facts}))
    assert result.numbers["fault_bound"] == pytest.approx(0.5)


def test_start_and_end_are_the_time_outside_the_main_part():
    assert behaviour(rank(0, 8.0), run_s=10.0).numbers["outside_bound"] == pytest.approx(0.2)
    assert behaviour(rank(0, 8.0)).numbers["outside_bound"] == 1.0


def test_of_several_runs_the_largest_bounds_count():
    slow, quick = (
        behaviour(sender(0, cell("MPI_Send", 10, 10 * KIB, time_s), to=1), sender(1, to=0))
        for time_s in (2.0, 1.0)
    )
    assert merged([slow, quick]).numbers["node_message_bound"] == pytest.approx(0.2)
    assert merged([slow, quick]).numbers["messages"] == quick.numbers["messages"]


def test_an_unknown_bound_allows_everything():
    assert Behaviour({"a_bound": 0.25}).bound(["a_bound", "a_bound"]) == 0.5
    assert Behaviour({}).bound(["b_bound"]) == 1.0


@pytest.mark.parametrize(
    ("threshold", "side"), [(8 * KIB, 0.0), (64 * KIB, 64 * KIB), (400_000, 400_000), (512 * KIB, inf)]
)
def test_thresholds_that_no_size_lies_between_are_the_same(threshold, side):
    sizes = MessageSizes(64 * KIB + 100, 401_408, 20)
    assert sizes.side_of(threshold) == side


def test_through_ucx_go_the_sizes_of_the_reaches_that_it_carries():
    call = cell("MPI_Send", 10, 10 * KIB, 1.0)
    ranks = (sender(0, call, to=1), sender(1, call, to=0))
    assert behaviour(*ranks).sizes["ucx"] == ()
    carried = behaviour(*ranks, carriers=Carriers(ucx=frozenset({"node"})))
    assert carried.sizes["ucx"] == carried.sizes["node"]
    assert carried.numbers["ucx_bound"] == carried.numbers["node_message_bound"] > 0


def test_time_after_finalize_may_be_the_programs_own_code():
    run_record = record(rank(0, 6.0), rank(1, 6.0))
    over_s = run_record.ranks[0].begin_unix_s + 6.0
    plain, late = (
        behaviour_of(run_record, analyse(run_record), ANYBODY, 10.0, ended_unix_s=over_s + after_s).numbers
        for after_s in (0.2, 4.25)
    )
    assert plain == behaviour_of(run_record, analyse(run_record), ANYBODY, 10.0).numbers
    assert late["fault_bound"] == pytest.approx(plain["fault_bound"] * 0.6 + 0.4)
