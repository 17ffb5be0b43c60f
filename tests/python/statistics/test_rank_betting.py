"""Contribution of a setting, from the rank of a run without it among runs of the answer."""

from math import exp, inf, log
from random import Random

import pytest

from mpiric.statistics import confidence_sequence
from mpiric.statistics.rank_betting import centre, log_wealth, score, share_interval

pytestmark = pytest.mark.slow


def blocks(random, without, count, answer_runs=3, spread=0.05):
    """Blocks of a program whose level changes from one to the next, and within each."""
    runs = []
    for _ in range(count):
        level = random.uniform(1, 3)
        answers = [level * random.lognormvariate(0, spread) for _ in range(answer_runs)]
        run = without * level * random.lognormvariate(0, spread)
        runs.append([(run / answer, run / answer) for answer in answers])
    return runs


@pytest.mark.parametrize("answer_runs", [1, 2, 3, 6, 12])
def test_the_wealth_is_a_martingale_when_every_rank_is_equally_likely(answer_runs):
    for before in ([], [(1, 1)], [(2, 3), (0, 3)]):
        after = [exp(log_wealth([*before, (rank, answer_runs)])) for rank in range(answer_runs + 1)]
        assert sum(after) / (answer_runs + 1) == pytest.approx(exp(log_wealth(before)), rel=1e-9)


@pytest.mark.parametrize("answer_runs", [1, 3, 8])
def test_a_higher_rank_never_lowers_the_wealth(answer_runs):
    wealth = [log_wealth([(1, 3), (rank, answer_runs)]) for rank in range(answer_runs + 1)]
    assert wealth == sorted(wealth)


def test_with_one_run_of_the_answer_the_bets_are_those_of_pairs():
    ranks = [(1, 1)] * 7 + [(0, 1)] * 2
    assert log_wealth(ranks) == pytest.approx(confidence_sequence.log_wealth(7, 9))


def test_without_a_block_nothing_is_known():
    assert share_interval([], 0.01) == (0.0, inf)
    assert centre([]) == 1.0


def test_a_large_share_is_enclosed_by_few_blocks():
    low, high = share_interval(blocks(Random(1), 1.7, 9), 0.002)
    assert 1.2 < low < 1.7 < high < 2.4


def test_the_end_of_the_interval_is_where_the_wealth_passes_its_goal():
    runs = blocks(Random(4), 1.2, 12)
    low, high = share_interval(runs, 0.01)

    def wealth(value):
        return log_wealth([(sum(q > value for q, _ in block), len(block)) for block in runs])

    assert wealth(low * (1 - 1e-9)) >= -log(0.01) > wealth(low)
    assert low < centre(runs) < high


@pytest.mark.parametrize("share", [1.0, 1.3])
def test_both_ends_hold_at_every_look(share):
    missed = 0
    for seed in range(300):
        runs = blocks(Random(seed), share, 30, spread=0.2)
        ends = [share_interval(runs[:count], 0.02) for count in range(3, 31)]
        missed += any(not low <= share <= high for low, high in ends)
    assert missed <= 300 * 0.04


def test_a_run_that_was_stopped_opens_the_upper_end_and_leaves_the_lower():
    runs = blocks(Random(2), 2.5, 8)
    stopped = [[(min(low, 2.0), inf) for low, _ in block] for block in runs]
    low, high = share_interval(stopped, 0.005)
    assert 1 < low <= 2.0
    assert high == inf


def test_a_run_of_the_answer_that_was_stopped_never_counts_as_faster():
    runs = [[(0.0, 1.5)] * 3] * 20
    low, _ = share_interval(runs, 0.01)
    assert low == 0.0


@pytest.mark.parametrize("answer_runs", [1, 3, 8])
def test_the_score_of_ranks_that_are_equally_likely_has_mean_0_and_variance_1(answer_runs):
    scores = [score([(rank, answer_runs)]) for rank in range(answer_runs + 1)]
    assert sum(scores) == pytest.approx(0)
    assert sum(value**2 for value in scores) / (answer_runs + 1) == pytest.approx(1)


def test_the_score_grows_with_the_root_of_the_blocks():
    assert score([(2, 3)] * 9) == pytest.approx(3 * score([(2, 3)]))


def test_without_a_block_the_score_is_0():
    assert score([]) == 0.0
