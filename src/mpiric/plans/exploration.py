"""Model-based search: run what can be hoped to be faster than the best, by all runs so far."""

from collections import Counter
from itertools import product
from math import prod
from random import Random

from mpiric.model.run import Plan
from mpiric.plans.effort import Effort
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import live_levels, only_live, rank
from mpiric.tuning.search.improvement import expected_improvement
from mpiric.tuning.search.space import Point, with_level

_ALL = 1500  # spaces up to this size are looked at whole


def explore(evaluator: Evaluator, effort: Effort, effect: float, seed: int) -> Plan[None]:
    """Run until no gain is expected any more that the proof could call.

    What promises most over the best is run, the best itself where that was measured less often (the leader
    and its challenger of Qin, Klabjan and Russo, NeurIPS 2017).
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
        hoped = expected_improvement(evaluator.effects(), points, best)
        first = int(hoped.argmax())
        quiet = quiet + 1 if hoped[first] < effort.worth * effect else 0
        if quiet == effort.patience:
            return
        times = evaluator.runs_of(points[first])
        yield from evaluator.run(best if 0 < evaluator.runs_of(best) < times else points[first])


def _hopeless(evaluator: Evaluator) -> set[tuple[int, int]]:
    """Levels of which two runs were stopped for being slow, and none came to its end: hardly by chance."""
    stopped = Counter[tuple[int, int]]()
    ended = set[tuple[int, int]]()
    for point in evaluator.points:
        levels = [(index, level) for index, level in enumerate(point) if level]
        stopped.update(levels if point in evaluator.stopped else ())
        ended.update(() if point in evaluator.stopped else levels)
    return {level for level, times in stopped.items() if times > 1 and level not in ended}


def _candidates(evaluator: Evaluator, seed: int, step: int) -> list[Point]:
    """Points worth a look: all of a small space; else around the best, crossed and at random."""
    levels = live_levels(evaluator)
    if prod(map(len, levels)) <= _ALL:
        return [point for point in product(*levels) if evaluator.may_work(point)]
    random = Random(f"mpiric search {seed} {step}")  # noqa: S311
    best = list(dict.fromkeys(only_live(entry.point, levels) for entry in rank(evaluator)[:8]))
    found: dict[Point, None] = dict.fromkeys(best)
    for point in best[:4]:
        for index, choices in enumerate(levels):
            found.update(dict.fromkeys(with_level(point, index, level) for level in choices))
    for _ in range(300):
        parents = random.choice(best), random.choice(best)
        crossed = [random.choice(pair) for pair in zip(*parents, strict=True)]
        for _ in range(random.choice((0, 1, 2))):
            index = random.randrange(len(levels))
            crossed[index] = random.choice(levels[index])
        found[tuple(crossed)] = None
    return [
        point
        for point in dict.fromkeys(only_live(each, levels) for each in found)
        if evaluator.may_work(point)
    ]
