"""Slimming: remove the settings of the best configuration that do not seem to contribute.

A setting with an estimated contribution below half of the minimum effect is dropped without a run. If the
estimate is doubtful, or the configuration never ran without the setting, the configuration runs with and
without it in turn until the estimate is certain. Settings that are still doubtful after the allowed runs are
dropped as well. If the budget ends before, they are dropped if their estimated contribution is small.

In the end, unless the proof is to decide about each setting, small contributions are dropped that are not
shown with a confidence of 95 %: the best of many configurations owes a part of its lead to chance.
"""

from collections import Counter
from contextlib import suppress

from mpiric.model.run import Plan
from mpiric.plans.effort import Effort
from mpiric.plans.evaluator import Evaluator, OutOfBudgetError
from mpiric.plans.ranking import SHOWN, accepted_loss, contributions, rank, without_heavy
from mpiric.statistics.space import with_level

_UNSHOWN = 1.64  # standard deviations of a one-sided 95 % limit
_SMALL = 0.06  # larger contributions to the logarithm of the objective are not dropped without a run
_FAR = 6.0  # standard deviations beyond which one disturbed run cannot make a setting look useful


def slim(evaluator: Evaluator, effort: Effort, effect: float) -> Plan[None]:
    """Store the smallest configuration that is as fast as the best in ``evaluator.minimal``."""
    evaluator.begin_choosing()
    ranked = without_heavy(evaluator, rank(evaluator))
    if not ranked or not any(ranked[0].point):
        return
    point, looks, has_budget = ranked[0].point, Counter[int](), True
    while sum(map(bool, point)) > 1:
        without = {
            setting: with_level(point, setting.factor, 0)
            for setting in reversed(contributions(evaluator, point))
        }
        settings = [setting for setting, smaller in without.items() if evaluator.may_work(smaller)]
        idle = next((setting for setting in settings if setting.mean < effect / 2), None)
        unsure = next(
            (
                setting
                for setting in settings
                if looks[setting.factor] < 2 * effort.looks and has_budget
                if not setting.is_evident
                or (setting.mean < _FAR * setting.deviation and not evaluator.runs_of(without[setting]))
            ),
            None,
        )
        if idle is None and unsure is None:
            most_lost = accepted_loss(evaluator, point)
            idle = next(
                (
                    setting
                    for setting in settings
                    if setting.is_doubtful
                    and (looks[setting.factor] == 2 * effort.looks or setting.mean <= most_lost)
                ),
                None,
            )
        if idle is not None:
            point = without[idle]
        elif unsure is not None:
            try:
                yield from evaluator.run(min(without[unsure], point, key=evaluator.runs_of))
            except OutOfBudgetError:
                has_budget = False
                continue
            looks[unsure.factor] += 1
            if not evaluator.may_work(point):
                return
        else:
            break
    while sum(map(bool, point)) > 1 and not effort.proves_shares:
        unshown = [
            setting
            for setting in contributions(evaluator, point)
            if setting.mean <= min(_SMALL, SHOWN + _UNSHOWN * setting.deviation)
            and evaluator.may_work(with_level(point, setting.factor, 0))
        ]
        if not unshown:
            break
        point = with_level(point, min(unshown, key=lambda setting: setting.mean).factor, 0)
    if not evaluator.runs_of(point):
        with suppress(OutOfBudgetError):
            yield from evaluator.run(point)
    evaluator.minimal = point if evaluator.may_work(point) else None
