from itertools import pairwise
from math import exp, inf
from random import Random

import pytest

from mpiric.statistics.confidence_sequence import fewest_pairs, log_wealth, median_interval, wins_needed


def test_wealth_is_a_martingale_under_a_fair_coin() -> None:
    for pairs in range(30):
        for wins in range(pairs + 1):
            mean = (exp(log_wealth(wins + 1, pairs + 1)) + exp(log_wealth(wins, pairs + 1))) / 2
            assert mean == pytest.approx(exp(log_wealth(wins, pairs)), rel=1e-9)


def test_wealth_starts_at_one() -> None:
    assert log_wealth(0, 0) == pytest.approx(0.0)


def test_nine_pairs_that_agree_decide_at_99_percent() -> None:
    assert fewest_pairs(0.01) == 9


def test_a_second_candidate_costs_one_more_pair() -> None:
    assert fewest_pairs(0.005) == 10


def test_needed_wins_never_fall_as_pairs_are_added() -> None:
    needed = [wins_needed(pairs, 0.005) for pairs in range(9, 400)]
    assert all(a is not None and b is not None and a <= b for a, b in pairwise(needed))


def test_the_share_of_wins_needed_comes_down_to_a_small_majority() -> None:
    needed = wins_needed(2000, 0.005)
    assert needed is not None
    assert needed / 2000 < 0.55


def test_too_few_ratios_say_nothing() -> None:
    assert median_interval([1.2] * 6, 0.05) == (0.0, inf)


def test_the_interval_is_between_observed_ratios() -> None:
    ratios = [1.0 + index / 100 for index in range(40)]
    low, high = median_interval(ratios, 0.05)
    assert low in ratios
    assert high in ratios
    assert low < 1.2 < high


def test_a_smaller_error_gives_a_wider_interval() -> None:
    random = Random(3)
    ratios = [random.lognormvariate(0.05, 0.1) for _ in range(60)]
    wide, narrow = median_interval(ratios, 0.01), median_interval(ratios, 0.05)
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]


def test_the_95_percent_interval_holds_the_median_at_every_look() -> None:
    missed = 0
    for seed in range(400):
        random = Random(seed)
        ratios: list[float] = []
        for _ in range(80):
            ratios.append(random.lognormvariate(0.0, 0.2))
            low, high = median_interval(ratios, 0.05)
            if not low <= 1.0 <= high:
                missed += 1
                break
    assert missed / 400 <= 0.05


def test_ties_at_the_median_never_move_the_interval_off_it() -> None:
    low, high = median_interval([1.0] * 100, 0.05)
    assert (low, high) == (1.0, 1.0)
