"""Screening: try one setting after the other on top of the best point so far."""

from mpiric.model.run import Plan
from mpiric.model.trial import Outcome
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import live_levels, only_live, rank
from mpiric.statistics.effects import UNPROMISING
from mpiric.statistics.space import with_level

_SHARE = 0.7  # share of the runs for screening; the others are for combinations
_FRUITLESS = 5  # number of successive unpromising settings without a gain after which screening ends
_Level = tuple[int, int]  # index of a factor and one of its levels


def screen(evaluator: Evaluator) -> Plan[None]:
    """Try each level once, by descending promise, within a share of the remaining runs.

    Unpromising settings come after promising ones, and end when several in a row had no gain. Heavy settings
    come last.
    """
    runs = evaluator.runs_left()
    last = len(evaluator.trials) + max(1, int(runs * _SHARE)) if runs > 5 else len(evaluator.trials) + runs
    factors = evaluator.space.factors
    # The second value of a promising factor may come before the first one of another factor.
    turns = sorted(
        (factor.weight, (turn + 1) / (0.1 + factor.score), index, level + 1)
        for index, factor in enumerate(factors)
        for turn, level in enumerate(factor.order)
    )
    likely: list[_Level] = []
    unlikely: list[_Level] = []
    heavy: list[_Level] = []
    for weight, _, index, level in turns:
        group = heavy if weight else unlikely if factors[index].score < UNPROMISING else likely
        group.append((index, level))
    for factor, level in likely:
        if len(evaluator.trials) >= last:
            return
        yield from _try(evaluator, factor, level)
    fruitless = 0
    for factor, level in (*unlikely, *heavy):
        if len(evaluator.trials) >= last:
            return
        if factors[factor].score < UNPROMISING and likely and fruitless >= _FRUITLESS:
            continue
        yield from _try(evaluator, factor, level)
        fruitless = 0 if level in live_levels(evaluator)[factor] else fruitless + 1


def _try(evaluator: Evaluator, factor: int, level: int) -> Plan[None]:
    """Run the best point so far with one more level; before it the original, if that is due."""
    if any(point[factor] == level for point in evaluator.points):
        return  # measured by a run that was made ahead of the search
    if evaluator.is_original_due():
        yield from evaluator.run(evaluator.original)
    base = (
        only_live(rank(evaluator)[0].point, live_levels(evaluator))
        if evaluator.points
        else evaluator.original
    )
    point = with_level(base, factor, level)
    if point == base or not evaluator.may_work(point):
        return
    trial = yield from evaluator.run(point)
    if trial.outcome is not Outcome.OK and any(base) and point in evaluator.failed:
        # Does the setting fail alone, or only in combination?
        alone = with_level(evaluator.original, factor, level)
        if evaluator.may_work(alone) and alone not in evaluator.points and evaluator.runs_left() >= 10:
            yield from evaluator.run(alone)
