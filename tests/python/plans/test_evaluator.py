"""Trials whose outcome is corrected after the evaluator has used them."""

from collections.abc import Callable
from dataclasses import replace
from math import exp

import pytest
from tests.support.scripted_lab import run_points

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.plans.evaluator import Evaluator
from mpiric.statistics.space import Dimension, SearchSpace
from mpiric.tuning.objective import Budget

SPACE = SearchSpace((Dimension("binding", ("core", "none"), 0.5), Dimension("yield", ("on",), 0.5)))
BOUND, BOTH = Configuration.of({"binding": "core"}), Configuration.of({"binding": "core", "yield": "on"})


@pytest.mark.parametrize("outcome", [Outcome.DIFFERENT, Outcome.FAILED, Outcome.TIMED_OUT])
def test_a_rejection_that_is_withdrawn_excludes_nothing_any_more(outcome: Outcome) -> None:
    corrected: list[Trial] = []
    trials: list[Trial] = []

    def measure(configuration: Configuration, _: float) -> Trial:
        trials.append(Trial(configuration, Phase.SEARCH, Outcome.OK, 1.0, 1.0, number=1 + len(trials)))
        if configuration == BOUND:
            trials[-1] = replace(trials[-1], outcome=outcome, objective=None, reason="why")
        return trials[-1]

    evaluator = Evaluator(SPACE, Budget(), corrected=corrected)
    bound, both = SPACE.point(BOUND), SPACE.point(BOTH)
    assert bound is not None
    assert both is not None
    run_points(evaluator, measure, [evaluator.original, bound])
    assert BOUND in dict(evaluator.rejected())
    assert evaluator.may_work(both) == (outcome is Outcome.TIMED_OUT)
    corrected.append(replace(trials[-1], outcome=Outcome.OK, objective=0.5, reason=""))
    assert dict(evaluator.rejected()) == {}
    assert evaluator.may_work(both)
    assert evaluator.runs_of(bound) == 1
    corrected.append(replace(corrected[-1], outcome=Outcome.INTERRUPTED, objective=None))
    assert evaluator.rejected() == ()
    assert evaluator.may_work(both)


def disturbed_runs(disturbed: set[int], points: int) -> list[Trial]:
    """Runs that a search makes of the original, three times, and a setting, where some runs are disturbed."""
    trials: list[Trial] = []

    def measure(configuration: Configuration, _: float) -> Trial:
        number = 1 + len(trials)
        slow = number in disturbed
        trials.append(
            Trial(
                configuration,
                Phase.SEARCH,
                Outcome.OK,
                *((3.0, 3.0) if slow else (1.0, 1.0)),
                number=number,
                disturbed=slow,
            )
        )
        return trials[-1]

    evaluator = Evaluator(SPACE, Budget())
    bound = SPACE.point(BOUND)
    assert bound is not None
    run_points(evaluator, measure, [*[evaluator.original] * 3, *[bound] * points])
    return [trial for trial in trials if trial.configuration]


def test_a_disturbed_run_of_a_setting_is_made_again_once() -> None:
    assert [trial.disturbed for trial in disturbed_runs({4}, 1)] == [True, False]
    assert [trial.disturbed for trial in disturbed_runs({4, 5}, 1)] == [True, True]


def test_nothing_is_made_again_where_most_runs_are_disturbed() -> None:
    of_setting = disturbed_runs(set(range(4, 99)), 8)
    assert len(of_setting) == 2 * 5 + 3  # the first eight runs, three of the original, do not show it yet


def test_a_disturbed_run_that_was_repeated_does_not_count() -> None:
    evaluator = Evaluator(SPACE, Budget())
    bound = SPACE.point(BOUND)
    assert bound is not None
    trials = iter([(1.0, False), (1.0, False), (3.0, True), (0.8, False)])

    def measure(configuration: Configuration, _: float) -> Trial:
        wall_s, disturbed = next(trials)
        return Trial(configuration, Phase.SEARCH, Outcome.OK, wall_s, wall_s, disturbed=disturbed)

    run_points(evaluator, measure, [evaluator.original, evaluator.original, bound])
    assert [round(exp(value), 3) for value in evaluator.logs] == [1.0, 1.0, 0.8]


def times_of(slow_from: int) -> tuple[list[Trial], Callable[[Configuration, float], Trial]]:
    """Return the trials and a lab in which all runs take 1.2 times as long from a run on."""
    trials: list[Trial] = []

    def measure(configuration: Configuration, _: float) -> Trial:
        time_s = (0.9 if configuration == BOUND else 1.0) * (1.2 if len(trials) + 1 >= slow_from else 1.0)
        trials.append(Trial(configuration, Phase.SEARCH, Outcome.OK, time_s, time_s, number=len(trials) + 1))
        return trials[-1]

    return trials, measure


def watched_evaluator() -> tuple[Evaluator, list[int]]:
    slow_runs: list[int] = []
    watch = lambda trial: slow_runs.append(trial.number)  # noqa: E731
    return Evaluator(SPACE, Budget(), on_slowdown=watch), slow_runs


def test_a_slower_run_of_the_original_is_reported() -> None:
    evaluator, slow_runs = watched_evaluator()
    _, measure = times_of(slow_from=3)
    bound = SPACE.point(BOUND)
    assert bound is not None
    run_points(evaluator, measure, [evaluator.original, evaluator.original, bound, evaluator.original])
    assert slow_runs == [4]


def test_the_same_time_of_the_original_is_not_reported() -> None:
    evaluator, slow_runs = watched_evaluator()
    _, measure = times_of(slow_from=99)
    run_points(evaluator, measure, [evaluator.original] * 4)
    assert slow_runs == []


def test_the_original_is_due_after_three_slow_runs_on_several_nodes() -> None:
    evaluator, _ = watched_evaluator()
    _, measure = times_of(slow_from=3)
    yields = SPACE.point(Configuration.of({"yield": "on"}))
    assert yields is not None
    run_points(evaluator, measure, [evaluator.original] * 2)
    for _ in range(3):
        assert not evaluator.is_original_due()
        run_points(evaluator, measure, [yields])
    assert evaluator.is_original_due()
    evaluator.on_slowdown = None
    assert not evaluator.is_original_due()


def test_the_original_is_due_before_it_has_a_time() -> None:
    assert watched_evaluator()[0].is_original_due()
