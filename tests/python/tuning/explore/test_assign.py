import pytest
from tests.support.explored_jobs import end, job

from mpiric.tuning.exploration import UNPAIRED, Side, assign


@pytest.mark.parametrize("coin", list(Side))
def test_a_coin_gives_the_first_and_the_second_gets_the_other(coin):
    first = assign([], "same", coin)
    assert first == (1, coin, "")
    second = assign([job(1, coin, None)], "same", coin)
    assert second == (1, coin.other, "")


def test_the_third_begins_a_block_even_while_both_run():
    jobs = [job(1, Side.RECIPE, None), job(1, Side.ORIGINAL, None)]
    block, _, _ = assign(jobs, "same", Side.RECIPE)
    assert block == 2


def test_other_inputs_begin_a_separate_block_which_is_reported():
    waiting = [job(1, Side.RECIPE, end(), "same")]
    block, side, note = assign(waiting, "changed", Side.ORIGINAL)
    assert (block, side) == (2, Side.ORIGINAL)
    assert "the inputs have changed since the first job of block 1" in note
    back = assign([*waiting, job(2, Side.ORIGINAL, end(), "changed")], "same", Side.RECIPE)
    assert back == (1, Side.ORIGINAL, "")


def test_a_job_without_a_block_waits_for_no_other():
    block, _, _ = assign([job(UNPAIRED, Side.RECIPE, end())], "same", Side.RECIPE)
    assert block == 1
