"""Runs with another number of ranks than the original, up to a step marker."""

from mpiric.lab.mark_judge import MarkJudge
from mpiric.model.pace import Crossing, MarkKey, MarkPair, MarksState, RankMarks, RunMarks

PAIR = MarkPair(MarkKey("MPI_Allreduce", "app+0x10", 0, 0), 10, 20)
FIRST, LAST = Crossing(1.0, 30, 300), Crossing(2.0, 60, 600)
ORIGINAL = {0: Crossing(2.0, 20, 200), 1: Crossing(2.0, 20, 200)}


def run_of(*lasts):
    ranks = tuple(
        RankMarks(rank, MarksState.ENDED, frozenset(), 0.0, 0.1, FIRST, last, None, 20, 1, (), (), 0)
        for rank, last in enumerate(lasts)
    )
    return RunMarks(len(ranks), PAIR.option, ranks)


def judge(*, is_any_size):
    return MarkJudge(PAIR, ORIGINAL, None, None, (), is_any_size=is_any_size)


def test_other_calls_are_expected_with_another_number_of_ranks():
    assert judge(is_any_size=True).other_work(run_of(LAST)) == ""


def test_the_same_number_of_ranks_has_to_make_the_same_calls():
    assert judge(is_any_size=False).other_work(run_of(LAST, LAST))


def test_each_rank_has_to_reach_the_marker():
    assert judge(is_any_size=True).other_work(run_of(LAST, None)) == "rank 1 did not reach the step marker"
