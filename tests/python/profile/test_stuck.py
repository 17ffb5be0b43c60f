from collections.abc import Sequence

import pytest

from mpiric.model.record import ProcessState
from mpiric.profile.standing import Standing
from mpiric.profile.stuck import find_stuck

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
