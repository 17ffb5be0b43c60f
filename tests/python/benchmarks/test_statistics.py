"""Shares with bounds and ratios of interleaved runs."""

import pytest
from benchmarks._statistics import best_of, ratio, upper_bound


@pytest.mark.parametrize(
    ("wrong", "tried", "bound"),
    [(0, 300, 0.009936), (0, 200, 0.014867), (3, 300, 0.025650), (1, 10, 0.394163), (0, 1, 0.95)],
)
def test_the_bound_is_that_of_clopper_and_pearson(wrong: int, tried: int, bound: float) -> None:
    assert upper_bound(wrong, tried) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize("tried", [0, 5])
def test_only_wrong_answers_bound_nothing(tried: int) -> None:
    assert upper_bound(tried, tried) == 1.0


def test_more_wrong_than_tried_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        upper_bound(3, 2)


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    assert ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0]).middle == 2.0


def test_a_few_rounds_have_no_interval() -> None:
    assert ratio([2.0] * 3, [1.0] * 3).interval is None


def test_twenty_rounds_that_agree_have_a_narrow_one() -> None:
    assert ratio([2.0] * 20, [1.0] * 20).interval == [2.0, 2.0]


def test_the_smallest_median_wins() -> None:
    assert best_of({"a": [1.0, 9.0, 9.0], "b": [5.0, 5.0, 5.0]}) == "b"
