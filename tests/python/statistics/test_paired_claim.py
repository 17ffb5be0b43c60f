"""Estimate of a ratio from pairs, some of which contain a stopped run."""

from math import inf

import pytest

from mpiric.statistics.claims import typical_ratio


def exact(*times: float) -> list[tuple[float, float]]:
    return [(time, time) for time in times]


def test_the_ratio_is_the_median_of_the_pairs() -> None:
    pairs = list(zip(exact(2.0, 3.0, 8.0), exact(1.0, 1.0, 1.0), strict=True))
    assert typical_ratio(pairs) == 3.0
    assert typical_ratio([]) == 1.0


def test_one_pair_beyond_the_bound_of_stopped_runs_does_not_decide_the_ratio() -> None:
    answers = [0.9, 1.16, 0.84, 0.88, 1.2, 0.77, 1.05, 0.76, 0.74, 0.52]
    originals = [1.80, 1.83, 1.68, 1.76, 2.1, 1.54, 1.83, 2.2, 1.48, 0.99]
    stopped = (0, 2, 3, 5, 8)
    pairs = [
        ((original, inf if at in stopped else original), (answer, answer))
        for at, (original, answer) in enumerate(zip(originals, answers, strict=True))
    ]
    assert typical_ratio(pairs) == pytest.approx(1.83 / 0.86, rel=0.03)  # 2.89 is the only ratio above 2


def test_the_ratio_is_within_the_bounds_of_stopped_runs() -> None:
    pairs = [((2.0, inf), (1.0, 1.0)), ((2.0, inf), (1.0, 1.0)), ((1.5, 1.5), (1.0, 1.0))]
    assert typical_ratio(pairs) >= 2.0
    assert typical_ratio([(answer, original) for original, answer in pairs]) <= 0.5
