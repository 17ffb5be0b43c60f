"""Screening: one setting after the other on top of the best so far."""

from mpiric.model.run import Plan
from mpiric.model.trial import Outcome
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import live_levels, only_live, rank
from mpiric.tuning.search.effects import UNPROMISING
from mpiric.tuning.search.space import Point, with_level

_SHARE = 0.7  # of the runs; the rest looks for combinations
_Level = tuple[int, int]  # index of a factor, and one of its levels
_FRUITLESS = 5  # unpromising settings in a row that brought nothing: the rest is left to the model


def screen(evaluator: Evaluator) -> Plan[None]:
    """Try each level once while its share of the runs that are left lasts, best first by promise.

    What promises nothing comes after all that does, and ends when several in a row brought nothing. Heavy
    settings come last.
    """
    runs = evaluator.runs_left()
    last = len(evaluator.trials) + max(1, int(runs * _SHARE)) if runs > 5 else len(evaluator.trials) + runs
    likely, unlikely, heavy = _levels(evaluator)
    for factor, level in likely:
        if len(evaluator.trials) >= last:
            return
        yield from _try(evaluator, factor, level)
    fruitless = 0
    for factor, level in (*unlikely, *heavy):
        if len(evaluator.trials) >= last:
            return
        promises = evaluator.space.factors[factor].score >= UNPROMISING
        if not promises and likely and fruitless >= _FRUITLESS:
            continue
        yield from _try(evaluator, factor, level)
        fruitless = 0 if level in live_levels(evaluator)[factor] else fruitless + 1


def _try(evaluator: Evaluator, factor: int, level: int) -> Plan[None]:
    """Run the best so far with one level more, now and then the original before it."""
    if any(point[factor] == level for point in evaluator.points):
        return  # known from runs made ahead
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
        yield from _blame(evaluator, with_level(evaluator.original, factor, level))


def _levels(evaluator: Evaluator) -> tuple[list[_Level], list[_Level], list[_Level]]:
    """Levels of promising, of other and of heavy factors, each in the order of trying.

    A promising factor's second guess may come before another's first.
    """
    turns = sorted(
        (factor.weight, (turn + 1) / (0.1 + factor.score), index, level + 1)
        for index, factor in enumerate(evaluator.space.factors)
        for turn, level in enumerate(factor.order)
    )
    split: tuple[list[_Level], list[_Level], list[_Level]] = ([], [], [])
    for weight, _, index, level in turns:
        factor = evaluator.space.factors[index]
        split[2 if weight else factor.score < UNPROMISING].append((index, level))
    return split


def _blame(evaluator: Evaluator, alone: Point) -> Plan[None]:
    """Find out whether a setting fails by itself or only together with the others."""
    if evaluator.may_work(alone) and alone not in evaluator.points and evaluator.runs_left() >= 10:
        yield from evaluator.run(alone)
