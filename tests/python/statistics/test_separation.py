"""Blocks of runs in random order: when they decide, and the bounds that they give."""

from math import inf

import pytest

from mpiric.statistics.confidence_sequence import SHARE, block_pairs, decides, separation


def _exact(*values: float) -> list[tuple[float, float]]:
    return [(value, value) for value in values]


@pytest.mark.parametrize(("error", "pairs"), [(0.05, 5), (0.01, 6), (0.001, 8)])
def test_a_block_takes_fewer_pairs_than_pairs_one_after_the_other(error: float, pairs: int):
    assert block_pairs(error) == pairs
    assert decides(pairs, error)
    assert not decides(pairs - 1, error)


def test_the_bets_on_a_block_and_on_its_pairs_share_one_wealth():
    assert 0 < SHARE < 1


def test_the_gap_between_the_groups_bounds_the_ratio():
    low, high = separation(_exact(2.0, 2.1, 2.2), _exact(1.0, 1.05))
    assert low == pytest.approx(2.0 / 1.05 / 1.1)
    assert high == pytest.approx(2.2 / 1.0 * 1.1)


def test_a_gap_that_is_smaller_than_the_range_of_a_group_shows_nothing():
    low, _ = separation(_exact(1.1, 1.3, 1.5), _exact(1.0, 1.0, 1.0))
    assert low < 1


def test_groups_that_overlap_are_not_separated():
    low, high = separation(_exact(1.0, 1.2), _exact(1.1, 0.9))
    assert low < 1 < high


def test_runs_that_were_stopped_count_by_their_lower_bound():
    low, high = separation([(2.0, inf), (5.0, 5.0), (5.1, 5.1)], _exact(1.0, 1.0))
    assert low == pytest.approx(2.0 / 1.02)
    assert high == inf


def test_a_stopped_answer_is_not_shown_to_be_faster():
    assert separation(_exact(1.0, 1.0), [(2.0, inf), (1.0, 1.0)])[0] == 0.0
