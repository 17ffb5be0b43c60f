from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from mpiric.host.host import Completed
from mpiric.model.errors import Finding
from mpiric.model.record import ProcessState
from mpiric.profile.standing import Standing, unrecorded
from mpiric.profile.stuck import describe_states, find_stuck, init_advice

INPUT = ProcessState("S", "read", "standard input (pipe:[7])")
AT_WORK = ProcessState("R", place="/home/me/app+0x1f0")


def sends(rank: int, to: int, lasted_s: float = 3.9) -> Standing:
    return Standing(
        rank, "MPI_Send", "send", lasted_s, "MPI_COMM_WORLD", "160,000 bytes", f"to {to}", frozenset({to})
    )


def receives(rank: int, source: int, lasted_s: float = 3.9) -> Standing:
    return Standing(
        rank, "MPI_Recv", "receive", lasted_s, "MPI_COMM_WORLD", "8 bytes", f"from {source}",
        frozenset({source}),
    )  # fmt: skip


def in_barrier(
    rank: int, waits_for: Sequence[int], lasted_s: float = 3.9, call: str = "MPI_Barrier"
) -> Standing:
    return Standing(rank, call, "collective", lasted_s, "MPI_COMM_WORLD", waits_for=frozenset(waits_for))


def found(*ranks: Standing, least_s: float = 2.0) -> dict[str, str]:
    return {finding.id: finding.says for finding in find_stuck(ranks, least_s)}


def test_two_blocking_sends_are_a_deadlock() -> None:
    assert found(sends(0, 1), sends(1, 0)) == {
        "deadlock": "Deadlock: ranks 0 and 1 have been in MPI_Send for 3.9 s (160,000 bytes to 1 and to 0): "
        "each waits for the other to receive"
    }


def test_a_deadlock_of_receives_says_who_has_to_send() -> None:
    (says,) = found(receives(0, 1), receives(1, 0)).values()
    assert says.endswith("(from 1 and from 0): each waits for the other to send")


def test_ranks_that_wait_for_a_cycle_are_not_part_of_it() -> None:
    (finding,) = find_stuck([sends(0, 1), sends(1, 0), receives(2, 0)], 2.0)
    assert "rank 2" not in finding.says
    assert "rank 2 has been in MPI_Recv" in finding.evidence


def test_a_receive_against_a_barrier_is_a_deadlock() -> None:
    (says,) = found(receives(0, 1), in_barrier(1, [0])).values()
    assert "rank 0 has been in MPI_Recv" in says
    assert "rank 1 has been in MPI_Barrier on MPI_COMM_WORLD" in says


def test_different_collectives_are_named() -> None:
    (says,) = found(in_barrier(0, [1]), in_barrier(1, [0], call="MPI_Bcast")).values()
    assert says.startswith(
        "Ranks call different collectives at the same time: rank 0 has been in MPI_Barrier"
    )


def test_any_source_is_released_by_one_rank() -> None:
    any_source = Standing(0, "MPI_Recv", "receive", 3.9, waits_for=frozenset({1, 2}), any_of=True)
    assert "deadlock" not in found(any_source, receives(1, 0), Standing(2, lasted_s=3.9))
    assert "deadlock" in found(any_source, receives(1, 0), receives(2, 0))


def test_a_missing_participant_is_named_with_its_place() -> None:
    ranks = [in_barrier(rank, [3]) for rank in range(3)]
    (says,) = found(*ranks, Standing(3, lasted_s=3.9, process=AT_WORK)).values()
    assert says == (
        "Rank 3 has not entered MPI_Barrier on MPI_COMM_WORLD, in which ranks 0-2 wait: "
        "it is in application code at app+0x1f0."
    )


def test_a_rank_in_another_call_can_be_the_missing_one() -> None:
    waits = Standing(1, "MPI_Waitall", "wait", 3.9, toward="2 requests")
    (says,) = found(in_barrier(0, [1]), waits).values()
    assert "it has been in MPI_Waitall" in says


def test_the_end_of_a_chain_is_the_cause() -> None:
    (says,) = found(receives(0, 1), receives(1, 2), Standing(2, lasted_s=3.9)).values()
    assert "ank 1 has been in MPI_Recv" in says
    assert "rank 2 is in application code" in says


def test_standard_input_is_the_cause_of_other_waits() -> None:
    ranks = [in_barrier(rank, [0]) for rank in range(1, 3)]
    findings = found(Standing(0, lasted_s=3.9, process=INPUT), *ranks)
    assert list(findings) == ["waits-for-input"]
    assert findings["waits-for-input"].startswith("Rank 0 waits for standard input")
    assert "ranks 1 and 2 have been in MPI_Barrier" in findings["waits-for-input"]


def test_a_collective_that_all_have_entered_makes_no_progress() -> None:
    assert "no-progress" in found(in_barrier(0, []), in_barrier(1, []))


@pytest.mark.parametrize(
    "ranks",
    [
        [Standing(0, lasted_s=3.9), Standing(1, lasted_s=3.9)],  # both compute
        [Standing(0, lasted_s=0.01), in_barrier(1, [0], 0.01)],  # a short wait
        [sends(0, 1, 0.002), sends(1, 0, 0.001)],  # messages on their way
        [Standing(0, lasted_s=0.5), receives(1, 0)],  # a worker without work, its master calls MPI
        [Standing(0, lasted_s=1.5), in_barrier(1, [0], 1.5)],  # less than half of the run
        [in_barrier(0, [], 3.9), in_barrier(1, [], 0.001)],
        [],
    ],
)
def test_healthy_runs_have_no_finding(ranks: list[Standing]) -> None:
    assert found(*ranks) == {}


def test_a_ring_of_1024_ranks_is_one_line() -> None:
    (finding,) = find_stuck([sends(rank, (rank + 1) % 1024) for rank in range(1024)], 2.0)
    assert finding.says == (
        "Deadlock: ranks 0-1023 have been in MPI_Send for 3.9 s (160,000 bytes to 1, to 2, to 3 and …): "
        "each waits for another one to receive"
    )
    assert finding.evidence.count(";") == 0


def test_1024_ranks_in_many_states_are_few_lines() -> None:
    ranks = [in_barrier(rank, [1023]) for rank in range(1000)]
    ranks += [receives(rank, 1023, 3.0) for rank in range(1000, 1010)]
    places = [ProcessState("R", place=f"/app+{rank:#x}") for rank in range(1010, 1024)]
    ranks += [Standing(1010 + at, lasted_s=3.9, process=place) for at, place in enumerate(places)]
    (finding,) = find_stuck(ranks, 2.0)
    assert finding.evidence.count(";") == 6
    assert len(finding.evidence) < 800


class NamingHost:
    """Host whose tools find one function in each file, with the name of the file."""

    environ: ClassVar = {}

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        if argv[0] == "readelf":
            return Completed(0, "  LOAD 0x0 0x0000000000000000 0x0\n", "")
        if argv[0] == "addr2line":
            function = argv[4].rpartition("/")[2]
            return Completed(0, f"{function}\na.c:7\n" * len(argv[5:]), "")
        return Completed(0, "", "")


IN_INIT = ProcessState("S", "poll", place="/app/main+0x10", calls=("/lib/poll+0x1", "/lib/PMPI_Init+0x2"))
LOOKING_UP = replace(IN_INIT, calls=("/lib/poll+0x1", "/lib/getaddrinfo+0x5", "/lib/PMPI_Init+0x2"))
BEFORE = ProcessState("S", "clock_nanosleep", place="/app/read_mesh+0x40", calls=("/lib/sleep+0x3",))


def init_finding(expected: int, **states: ProcessState) -> Finding:
    numbered = {key.removeprefix("rank"): state for key, state in states.items()}
    advice = init_advice(numbered, expected, NamingHost())
    assert advice is not None
    return advice.finding


def test_ranks_in_mpi_init_wait_for_the_rank_that_does_not_call_it() -> None:
    assert init_finding(3, rank0=IN_INIT, rank1=BEFORE, rank2=IN_INIT).says == (
        "Ranks 0 and 2 are in MPI_Init, which rank 1 has not called: rank 1 is in application code at "
        "read_mesh (a.c:7), in the system call clock_nanosleep"
    )


def test_a_launch_that_has_just_started_may_be_in_mpi_init() -> None:
    assert find_stuck([replace(unrecorded(0, IN_INIT, 0.5), call="MPI_Init")], 10.0) == ()
    (finding,) = find_stuck([replace(unrecorded(0, IN_INIT, 12.0), call="MPI_Init")], 10.0)
    assert finding.id == "waits-in-init"


def test_a_rank_without_a_process_is_absent() -> None:
    says = init_finding(2, rank0=IN_INIT).says
    assert says.endswith("has not called: rank 1 is absent (ended, or not started on this node)")


def test_a_name_that_is_resolved_in_mpi_init_is_named() -> None:
    finding = init_finding(2, rank0=LOOKING_UP, rank1=IN_INIT)
    assert "ank 0 waits in MPI_Init for the address of a host name (getaddrinfo)" in finding.says
    assert "/etc/hosts" in finding.fix


def test_a_connection_without_an_answer_is_named() -> None:
    state = replace(IN_INIT, connects_to="10.0.0.9 port 1024")
    finding = init_finding(2, rank0=state, rank1=state)
    assert finding.says.startswith("Ranks 0 and 1 wait in MPI_Init for an answer of 10.0.0.9 port 1024")
    assert "10.0.0.9 port 1024 is reachable" in finding.fix


def test_a_launcher_without_ranks_is_named() -> None:
    state = replace(LOOKING_UP, calls=("/lib/getaddrinfo+0x5",))
    assert init_finding(2, mpiexec=BEFORE, ssh=state).says.startswith(
        "No rank has started: ssh waits for the address of a host name (getaddrinfo)"
    )


def test_no_rank_in_mpi_init_is_said() -> None:
    says = init_finding(2, rank0=BEFORE, rank1=BEFORE).says
    assert says.startswith("No rank has returned from MPI_Init: ranks 0 and 1 are in application code at ")


def test_ranks_in_other_calls_run_without_the_recorder() -> None:
    in_send = replace(IN_INIT, calls=("/lib/PMPI_Send+0x2",))
    assert init_advice({"0": in_send, "1": in_send}, 2, NamingHost()) is None
    assert describe_states({"0": in_send, "1": in_send}, 2, NamingHost()) == (
        "ranks 0 and 1 are in MPI_Send at main (a.c:7)"
    )


def test_a_rank_that_reads_input_is_in_no_mpi_call() -> None:
    old = replace(INPUT, calls=("/lib/read+0x1", "/lib/PMPI_Test+0x2"))
    assert describe_states({"0": old}, 1, NamingHost()) == "Rank 0 waits for standard input"


def test_input_before_mpi_init_has_the_fix_of_input() -> None:
    finding = init_finding(2, rank0=INPUT, rank1=IN_INIT)
    assert finding.says.endswith("which rank 0 has not called: rank 0 waits for standard input")
    assert "< /dev/null" in finding.fix
