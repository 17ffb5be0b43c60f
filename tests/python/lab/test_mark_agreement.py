import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiric.lab.mark_judge import REPEATABLE_OPTIONS, disagreement, less_work, repeatable_hint
from mpiric.model.pace import Crossing

WORK = {0: Crossing(1.0, 1000, 1 << 20), 1: Crossing(1.1, 2000, 1 << 21)}


def test_runs_that_made_the_same_calls_agree_whatever_their_times():
    assert disagreement([WORK, {0: Crossing(9.0, 1000, 1 << 20), 1: Crossing(8.1, 2000, 1 << 21)}]) == ""


def test_one_rank_with_other_work_is_enough():
    other = {**WORK, 1: Crossing(1.1, 2440, 1 << 21)}
    assert disagreement([WORK, other]) == "calls of rank 1 differ by 18 % between runs"


@given(st.integers(0, 1 << 40))
def test_half_a_percent_is_the_limit_of_bytes(size):
    within = {0: Crossing(1.0, 10, size)}, {0: Crossing(1.0, 10, size + size // 300)}
    beyond = {0: Crossing(1.0, 10, size + 100)}, {0: Crossing(1.0, 10, 2 * size + 200)}
    assert disagreement(within) == ""
    assert "bytes of rank 0 differ by 50 %" in disagreement(beyond)


def test_every_rank_must_come_to_the_mark():
    assert disagreement([WORK, {0: WORK[0]}]) == "rank 1 did not reach it in every run"
    assert disagreement([{}, {}]) == "no rank reached it"


def test_a_run_that_does_less_before_the_mark_is_named():
    assert less_work(WORK, WORK) == ""
    assert (
        less_work(WORK, {**WORK, 0: Crossing(0.1, 10, 1 << 20)})
        == "rank 0 made 10 calls before the mark where the original makes 1000"
    )
    assert less_work(WORK, {0: WORK[0]}) == "rank 1 did not reach the step marker"


@pytest.mark.parametrize("program", ["gmx", "gmx_mpi", "gmx_mpi_d", "mdrun_mpi"])
def test_the_options_of_gromacs_are_named(program: str) -> None:
    assert "`-reprod -dlb no -notunepme`" in repeatable_hint(program)


@pytest.mark.parametrize("program", ["", "app", "gmxlike", "lmp"])
def test_of_other_programs_nothing_is_reported(program: str) -> None:
    assert repeatable_hint(program) == ""


def test_each_entry_has_options_and_a_reason() -> None:
    assert all(options.startswith("-") and why for options, why in REPEATABLE_OPTIONS.values())
