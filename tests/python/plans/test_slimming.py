"""Removal of settings without effect from the best configuration before its proof."""

from tests.support.scripted_lab import answering, run_points

from mpiric.lab.lab import drive
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import slimmest
from mpiric.plans.stages import NORMAL, slim
from mpiric.statistics.space import Dimension, SearchSpace
from mpiric.tuning.objective import Budget

SPACE = SearchSpace(tuple(Dimension(name, ("on",), 0.5) for name in ("useful", "small", "idle")))
FACTORS = {"useful": 0.5, "small": 0.9}


def script(configuration, _limit_s):
    seconds = 1.0
    for knob, _ in configuration.items:
        seconds *= FACTORS.get(knob, 1.0)
    return Trial(configuration, Phase.SEARCH, Outcome.OK, seconds, seconds)


def slimmed(points):
    evaluator = Evaluator(SPACE, Budget())
    run_points(evaluator, script, points)
    runs = len(evaluator.trials)
    drive(slim(evaluator, NORMAL, 0.01), answering(script))
    return evaluator.minimal, len(evaluator.trials) - runs


def test_a_setting_without_effect_is_dropped_and_the_others_stay():
    minimal, _ = slimmed([(0, 0, 0), (0, 0, 0), (1, 0, 1), (1, 1, 1)])
    assert minimal == (1, 1, 0)


def test_contributions_shown_by_existing_runs_need_no_further_runs():
    minimal, runs = slimmed([(0, 0, 0), (1, 0, 0), (0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 0), (0, 1, 0)])
    assert minimal == (1, 1, 0)
    assert runs <= 1


def test_the_original_has_nothing_to_be_dropped():
    assert slimmed([(0, 0, 0), (0, 0, 0)]) == (None, 0)


class EndingBudget(Budget):
    """A budget that ends between the question for the runs that are left and the next run."""

    def runs_that_fit(self, run_s: float) -> int:
        return 1

    def fits(self, run_s: float, runs: int = 1) -> bool:
        return False


def test_the_smallest_answer_is_chosen_without_further_runs_when_the_budget_ends():
    evaluator = Evaluator(SPACE, Budget())
    run_points(evaluator, script, [(0, 0, 0), (0, 0, 0), (1, 0, 1), (1, 1, 1)])
    evaluator.budget = EndingBudget()
    drive(slim(evaluator, NORMAL, 0.01), answering(script))
    assert evaluator.minimal is not None
    assert evaluator.minimal[0] == 1
    assert len(evaluator.trials) == 4


def small_gain_beside(large: float) -> tuple[int, ...]:
    """Smallest part of an answer with a setting that seemed to gain a little in one noisy run."""
    seconds = {(0, 0, 0): 1.0, (1, 0, 0): large, (1, 1, 0): 0.96 * large}
    noise = iter([1.0, 1.08, 0.95, 1.04, 1.0, 1.0])
    evaluator = Evaluator(SPACE, Budget())

    def measure(configuration, _limit_s):
        point = SPACE.point(configuration)
        value = seconds[point] * next(noise)
        return Trial(configuration, Phase.SEARCH, Outcome.OK, value, value)

    run_points(evaluator, measure, [*[(0, 0, 0)] * 4, (1, 0, 0), (1, 1, 0)])
    return slimmest(evaluator, (1, 1, 0))


def test_a_doubtful_setting_is_dropped_that_adds_little_to_a_large_gain():
    assert small_gain_beside(0.5) == (1, 0, 0)
