"""The fewest settings that are as fast as the winner."""

from collections.abc import Callable
from math import exp
from random import Random

from tests.support.scripted_lab import Script, answering, run_points

from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.plans.backward_elimination import eliminate_backward
from mpiric.plans.evaluator import Evaluator
from mpiric.tuning.budget import Budget
from mpiric.tuning.search.space import Dimension, Point, SearchSpace

SPACE = SearchSpace(tuple(Dimension(name, ("on",), 0.3) for name in ("large", "small", "nothing", "none")))


def evaluated(
    noise: float = 0.01, crashes: Callable[[Configuration], bool] = lambda _: False, seed: int = 5
) -> tuple[Evaluator, Script]:
    """`large` gains 50 %, `small` 4 %, the others nothing."""
    random = Random(seed)
    gains = {"large": 0.5, "small": 0.04}

    def measure(configuration: Configuration, limit_s: float) -> Trial:
        if crashes(configuration):
            return Trial(configuration, Phase.SEARCH, Outcome.FAILED, 0.1, reason="signal 11")
        wall_s = exp(-sum(gains.get(knob, 0.0) for knob, _ in configuration.items) + random.gauss(0, noise))
        return Trial(configuration, Phase.SEARCH, Outcome.OK, wall_s, wall_s)

    evaluator = Evaluator(SPACE, Budget())
    points = ((0, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 1), (1, 1, 1, 1))
    run_points(evaluator, measure, points)
    return evaluator, measure


def minimal(evaluator: Evaluator, script: Script) -> Point | None:
    drive(eliminate_backward(evaluator), answering(script))
    return evaluator.minimal


def test_a_setting_that_does_nothing_is_eliminated_and_one_that_gains_a_little_stays() -> None:
    assert minimal(*evaluated()) == (1, 1, 0, 0)


def test_in_much_noise_a_setting_that_does_nothing_seldom_stays() -> None:
    found = [minimal(*evaluated(noise=0.1, seed=seed)) for seed in range(20)]
    kept = sum(point[2] + point[3] for point in found if point is not None)
    assert kept <= 8
    assert all(point is None or point[0] for point in found)


def test_a_part_that_crashes_is_no_answer() -> None:
    crashing = evaluated(crashes=lambda tried: "large" in tried.as_dict() and len(tried.items) in (2, 3))
    found = minimal(*crashing)
    assert found is None or sum(found) in (1, 4)


def test_of_the_original_nothing_can_be_eliminated() -> None:
    def measure(tried: Configuration, _: float) -> Trial:
        return Trial(tried, Phase.SEARCH, Outcome.OK, 1.0, 1.0)

    evaluator = Evaluator(SPACE, Budget())
    run_points(evaluator, measure, [(0, 0, 0, 0)])
    assert minimal(evaluator, measure) is None
