"""Slimming: the best configuration without the settings that are not seen to contribute.

A setting that the model estimates to contribute less than half of the minimum effect is dropped without a
run. Where its estimate is doubtful, or the best configuration never ran without it, the configuration
runs with and without it by turns until the estimate is certain; what has not been seen to contribute when the
allowed runs are made is dropped as well.
"""

from collections import Counter

from mpiric.model.run import Plan
from mpiric.plans.effort import Effort
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import contributions, rank, without_heavy
from mpiric.tuning.search.space import with_level

_FAR = 6.0  # standard deviations from which one disturbed run cannot have made a setting look useful


def slim(evaluator: Evaluator, effort: Effort, effect: float) -> Plan[None]:
    """Leave the smallest configuration that keeps up with the best in ``evaluator.minimal``."""
    ranked = without_heavy(evaluator, rank(evaluator))
    if not ranked or not any(ranked[0].point):
        return
    point, looks = ranked[0].point, Counter[int]()
    while sum(map(bool, point)) > 1:
        without = {
            each: with_level(point, each.factor, 0) for each in reversed(contributions(evaluator, point))
        }
        estimates = [each for each, smaller in without.items() if evaluator.may_work(smaller)]
        idle = next((each for each in estimates if each.mean < effect / 2), None)
        unsure = next(
            (
                each
                for each in estimates
                if looks[each.factor] < 2 * effort.looks
                if not each.is_evident
                or (each.mean < _FAR * each.deviation and not evaluator.runs_of(without[each]))
            ),
            None,
        )
        if idle is None and unsure is None:
            idle = next((each for each in estimates if each.is_doubtful), None)
        if idle is not None:
            point = without[idle]
        elif unsure is not None:
            looks[unsure.factor] += 1
            yield from evaluator.run(min(without[unsure], point, key=evaluator.runs_of))
            if not evaluator.may_work(point):
                return
        else:
            break
    if not evaluator.runs_of(point):
        yield from evaluator.run(point)
    evaluator.minimal = point if evaluator.may_work(point) else None
