from random import Random

import pytest

from mpiric.model.evidence import Verdict
from mpiric.statistics.regression import compare_days, runs_needed


def days(ratio: float, seed: int, noise: float = 0.03, runs: int = 12) -> tuple[list[float], list[float]]:
    random = Random(seed)
    then = [random.lognormvariate(0.0, noise) for _ in range(runs)]
    return then, [ratio * random.lognormvariate(0.0, noise) for _ in range(runs)]


def test_a_program_that_takes_a_fifth_longer_has_become_slower() -> None:
    assert compare_days(*days(1.2, seed=1)).verdict is Verdict.SLOWER


def test_a_program_that_takes_a_fifth_less_has_become_faster() -> None:
    assert compare_days(*days(0.8, seed=2)).verdict is Verdict.FASTER


def test_equal_days_are_called_different_in_less_than_one_percent() -> None:
    verdicts = [compare_days(*days(1.0, seed)).verdict for seed in range(600)]
    assert sum(verdict is not Verdict.NO_DIFFERENCE for verdict in verdicts) <= 6


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    comparison = [compare_days(*days(1.05, seed)) for seed in range(600)]
    assert sum(not interval.low <= 1.05 <= interval.high for interval in comparison) <= 12


def test_too_few_runs_have_no_interval() -> None:
    comparison = compare_days([1.0, 1.1], [2.0, 2.1])
    assert (comparison.low, comparison.high) == (0.0, float("inf"))
    assert comparison.verdict is Verdict.NO_DIFFERENCE


@pytest.mark.parametrize(("then", "needed"), [(3, 9), (9, 3), (1, None)])
def test_the_runs_that_a_comparison_needs_are_known(then: int, needed: int | None) -> None:
    assert runs_needed(then) == needed
