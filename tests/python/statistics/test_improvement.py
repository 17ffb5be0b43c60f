"""Expected improvement of a run: with little knowledge, and with possibly disturbed runs."""

from math import log

import numpy as np
import pytest

from mpiric.statistics.effects import Effects, Sizes, expected_improvement
from mpiric.statistics.space import Dimension, Point, SearchSpace

SPACE = SearchSpace((Dimension("a", ("on",), 0.5), Dimension("b", ("on",), 0.5)))
AS_IT_IS, A, B, BOTH = (0, 0), (1, 0), (0, 1), (1, 1)
SIZES = Sizes(0.2, 0.02, 0.01, 0.0)


def effects(runs: list[tuple[Point, float]]) -> Effects:
    return Effects(SPACE, [point for point, _ in runs], [log(seconds) for _, seconds in runs], SIZES)


def hoped(runs: list[tuple[Point, float]], points: list[Point], best: Point) -> list[float]:
    return [float(gain) for gain in expected_improvement(effects(runs), points, best)]


def test_untried_configurations_promise_more_than_equally_fast_ones() -> None:
    runs = [(AS_IT_IS, 1.0), (AS_IT_IS, 1.0), (A, 1.0), (A, 1.0)]
    never, measured = hoped(runs, [B, A], AS_IT_IS)
    assert never > 0.05
    assert measured < 0.01


def test_configurations_known_to_be_slow_promise_almost_nothing() -> None:
    runs = [(AS_IT_IS, 1.0), (AS_IT_IS, 1.0), *[(A, 1.5)] * 3]
    assert hoped(runs, [A], AS_IT_IS)[0] < 1e-4


def test_a_setting_of_which_one_bad_run_is_all_that_is_known_may_have_been_disturbed() -> None:
    once = hoped([(AS_IT_IS, 1.0), (AS_IT_IS, 1.0), (A, 1.5)], [A], AS_IT_IS)[0]
    twice = hoped([(AS_IT_IS, 1.0), (AS_IT_IS, 1.0), (A, 1.5), (A, 1.5)], [A], AS_IT_IS)[0]
    assert once > 100 * twice
    assert once > 1e-3


def test_noise_lowers_the_value_of_a_run(monkeypatch) -> None:
    runs = [*[(AS_IT_IS, 1.0)] * 2, *[(A, 0.5), (BOTH, 0.5)] * 3]
    points, logs = [point for point, _ in runs], [log(seconds) for _, seconds in runs]
    noisy = Effects(SPACE, points, logs, Sizes(0.2, 0.02, 0.1, 0.0))
    value = expected_improvement(noisy, [BOTH], A)[0]
    monkeypatch.setattr(Effects, "noise", 0.0)
    assert value < 0.9 * expected_improvement(noisy, [BOTH], A)[0]


def test_noise_counts_only_once_a_disturbed_run_can_be_told_from_it() -> None:
    runs = [(AS_IT_IS, 1.0), (A, 0.9)] * 4
    assert effects(runs).noise == SIZES.noise
    assert effects(runs[:-1]).noise == 0.0


def test_a_run_that_was_faster_than_foretold_was_not_disturbed() -> None:
    runs = [(AS_IT_IS, 1.0), (AS_IT_IS, 1.0), (A, 0.7), (BOTH, 0.7)]
    assert hoped(runs, [AS_IT_IS], A)[0] < 1e-3


@pytest.mark.parametrize("left_out", range(5))
def test_leaving_a_run_out_is_the_same_as_never_having_made_it(left_out: int) -> None:
    runs = [(AS_IT_IS, 1.0), (A, 0.8), (A, 0.82), (B, 1.1), (BOTH, 0.9)]
    remaining = [run for number, run in enumerate(runs) if number != left_out]
    points: list[Point] = [B, BOTH]
    _, _, mean_without, variance_without = effects(runs).gains(points, A)
    means = effects(remaining).predict([*points, A])
    expected = means[0][-1] - means[0][:-1]
    variances = [means[1][i, i] + means[1][-1, -1] - 2 * means[1][i, -1] for i in range(len(points))]
    assert mean_without[:, left_out] == pytest.approx(expected, abs=0.01)
    assert variance_without[:, left_out] == pytest.approx(np.array(variances), rel=0.01, abs=1e-6)
