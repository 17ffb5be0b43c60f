"""Model-based search: run the point with the largest expected improvement, given all runs so far."""

from collections import Counter
from itertools import product
from math import prod
from random import Random

from mpiric.model.run import Plan
from mpiric.plans.effort import Effort
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import live_levels, only_live, rank
from mpiric.statistics.effects import expected_improvement
from mpiric.statistics.space import Point, with_level

_ALL = 1500  # spaces up to this size are enumerated


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
