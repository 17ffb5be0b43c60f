"""Stages of the search: screening, then model-based exploration.

Screening tries one setting after the other on top of the best point so far. Exploration runs the point with
the largest expected improvement, given all runs so far.
"""

from collections import Counter
from itertools import product
from math import prod
from random import Random

from mpiric.model.run import Plan
from mpiric.model.trial import Outcome
from mpiric.plans.effort import Effort
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import live_levels, only_live, rank
from mpiric.statistics.effects import UNPROMISING, expected_improvement
from mpiric.statistics.space import Point, with_level

_SHARE = 0.7  # share of the runs for screening; the others are for combinations
_FRUITLESS = 5  # number of successive unpromising settings without a gain after which screening ends
_ALL = 1500  # spaces up to this size are enumerated
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


def explore(evaluator: Evaluator, effort: Effort, effect: float, seed: int) -> Plan[None]:
    """Run until no gain is expected any more that the proof could call.

    The point with the largest expected improvement runs, or the best point if that ran less often (leader and
    challenger of Qin, Klabjan and Russo, NeurIPS 2017).
    """
    quiet = 0
    while evaluator.runs_left():
        if evaluator.is_original_due():
            yield from evaluator.run(evaluator.original)
            continue
        step, best = len(evaluator.trials), rank(evaluator)[0].point
        slow = _hopeless(evaluator)
        points = [
            point
            for point in _candidates(evaluator, seed, step)
            if point != best and slow.isdisjoint(enumerate(point))
        ]
        if not points:
            return
        improvement = expected_improvement(evaluator.effects(), points, best)
        first = int(improvement.argmax())
        quiet = quiet + 1 if improvement[first] < effort.worth * effect else 0
        if quiet == effort.patience:
            return
        times = evaluator.runs_of(points[first])
        yield from evaluator.run(best if 0 < evaluator.runs_of(best) < times else points[first])


def _hopeless(evaluator: Evaluator) -> set[tuple[int, int]]:
    """Return the levels with two runs that were stopped as slow and none that ended: hardly by chance."""
    stopped = Counter[tuple[int, int]]()
    ended = set[tuple[int, int]]()
    for point in evaluator.points:
        levels = [(index, level) for index, level in enumerate(point) if level]
        stopped.update(levels if point in evaluator.stopped else ())
        ended.update(() if point in evaluator.stopped else levels)
    return {level for level, times in stopped.items() if times > 1 and level not in ended}


def _candidates(evaluator: Evaluator, seed: int, step: int) -> list[Point]:
    """Return all points of a small space, else neighbours and random crossings of the best points."""
    levels = live_levels(evaluator)
    if prod(map(len, levels)) <= _ALL:
        return [point for point in product(*levels) if evaluator.may_work(point)]
    random = Random(f"mpiric search {seed} {step}")  # noqa: S311
    best = list(dict.fromkeys(only_live(entry.point, levels) for entry in rank(evaluator)[:8]))
    points: dict[Point, None] = dict.fromkeys(best)
    for point in best[:4]:
        for index, choices in enumerate(levels):
            points.update(dict.fromkeys(with_level(point, index, level) for level in choices))
    for _ in range(300):
        parents = random.choice(best), random.choice(best)
        crossed = [random.choice(pair) for pair in zip(*parents, strict=True)]
        for _ in range(random.choice((0, 1, 2))):
            index = random.randrange(len(levels))
            crossed[index] = random.choice(levels[index])
        points[tuple(crossed)] = None
    reduced = dict.fromkeys(only_live(point, levels) for point in points)
    return [point for point in reduced if evaluator.may_work(point)]
