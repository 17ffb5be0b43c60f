from dataclasses import replace
from math import inf

import pytest
from tests.support.explored_jobs import PAIR, block, end, job

from mpiric.model.evidence import Verdict
from mpiric.tuning.exploration import UNPAIRED, Side, explored, failure

ORIGINAL, RECIPE = end(0.05), end(0.04)


def blocks(count, original=ORIGINAL, recipe=RECIPE):
    return [job for number in range(1, count + 1) for job in block(number, original, recipe)]


def test_nine_blocks_that_agree_decide():
    result = explored(blocks(9), PAIR)
    assert (result.verdict, result.blocks) == (Verdict.FASTER, 9)
    assert result.ratio == pytest.approx(1.25)
    assert result.ended_because == "decided after 9 pairs"
    assert explored(blocks(8), PAIR).ended_because == ""


def test_identical_jobs_show_no_difference():
    assert explored(blocks(9, ORIGINAL, ORIGINAL), PAIR).verdict is Verdict.NO_DIFFERENCE


@pytest.mark.parametrize("side", ["original", "recipe"])
def test_a_job_that_dies_before_the_first_mark_is_never_for_the_recipe(side):
    dead = end(marks=40, status=None)
    without = explored(blocks(9), PAIR)
    died = block(10, dead, RECIPE) if side == "original" else block(10, ORIGINAL, dead)
    result = explored([*died, *[replace(j, block=j.block + 10) for j in blocks(9)]], PAIR)
    assert (result.blocks, result.unknown) == (10, 1)
    assert (without.verdict, result.verdict) == (Verdict.FASTER, Verdict.NO_DIFFERENCE)


def test_deaths_alone_prove_nothing_in_either_direction():
    result = explored(blocks(30, ORIGINAL, end(None, status=None)), PAIR)
    assert result.verdict is Verdict.NO_DIFFERENCE
    assert result.ratio is None
    assert result.ci95 == (0.0, inf)


def test_a_job_killed_late_counts_by_the_marks_that_both_came_to():
    late = replace(end(0.04, marks=300, was_asked=True), status=143)
    grows = [0.05 * n for n in range(1, 301)] + [15 + 0.5 * n for n in range(1, 701)]
    assert ORIGINAL.pace is not None
    original = replace(ORIGINAL, pace=replace(ORIGINAL.pace, stride=1, calls=1000, times_s=tuple(grows)))
    assert explored(blocks(1, original, late), PAIR).ratio == pytest.approx(1.25, rel=0.01)


def test_a_block_under_way_waits_and_counts_as_unknown_once_a_later_one_is_over():
    running = block(1, ORIGINAL, None)
    assert explored(running, PAIR).blocks == 0
    result = explored([*running, *block(2, ORIGINAL, RECIPE)], PAIR)
    assert (result.blocks, result.unknown) == (2, 1)


def test_half_a_block_and_jobs_without_one_do_not_count():
    assert explored([job(1, Side.RECIPE, RECIPE), job(UNPAIRED, Side.RECIPE, RECIPE)], PAIR).blocks == 0


def test_a_recipe_that_fails_where_the_original_ran_ends_exploring():
    result = explored(block(1, ORIGINAL, end(status=3, marks=500)), PAIR)
    assert result.is_failing
    assert result.ended_because == "with the recipe a job ended with status 3 where the original ran"


def test_a_nan_that_the_original_does_not_print_ends_exploring():
    assert "printed a NaN (e nan)" in failure(block(1, ORIGINAL, end(nan="e nan")))
    assert failure(block(1, end(nan="e nan"), end(nan="e nan"))) == ""


@pytest.mark.parametrize(
    ("original", "recipe"),
    [
        (end(status=3), end(status=3)),
        (ORIGINAL, end(status=143)),
        (ORIGINAL, end(status=1, was_asked=True)),
        (ORIGINAL, end(status=None)),
        (ORIGINAL, end(None, status=1)),
        (None, end(status=3)),
    ],
    ids=["both", "signal", "asked to end", "unseen", "did not start", "original still runs"],
)
def test_failures_not_caused_by_the_recipe_do_not_end_exploring(original, recipe):
    assert failure(block(1, original, recipe)) == ""


def test_a_recipe_that_does_not_start_twice_is_failing():
    dead = end(None, status=1)
    assert failure([*block(1, ORIGINAL, dead), *block(2, ORIGINAL, dead)]) != ""


def test_an_ended_series_stays_ended():
    result = explored(blocks(2), PAIR, over=("faster", "decided after 9 pairs"))
    assert (result.verdict, result.ended_because) == (Verdict.FASTER, "decided after 9 pairs")
