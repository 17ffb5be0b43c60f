"""Trials whose outcome is corrected after the evaluator has used them."""

from dataclasses import replace

import pytest
from tests.support.scripted_lab import run_points

from mpiric.model.configuration import Configuration
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.plans.evaluator import Evaluator
from mpiric.tuning.budget import Budget
from mpiric.tuning.search.space import Dimension, SearchSpace

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
