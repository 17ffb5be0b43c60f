"""Model-based search: run what a random draw from the model's beliefs says is the best."""

from collections import Counter
from itertools import product
from math import prod
from random import Random

import numpy as np

from mpiric.tuning.search.effects import Array
from mpiric.tuning.search.evaluator import Evaluator
from mpiric.tuning.search.ranking import live_levels, only_live, rank
from mpiric.tuning.search.space import Point
from mpiric.tuning.search.tpe import propose

_ALL = 1500  # spaces up to this size are looked at whole
_LOOKED_AT = 300  # points a draw is made for
_ENOUGH = 0.003  # a hoped-for gain below this is not worth a run
_PATIENCE = 4
_WELL_KNOWN = 3  # runs of the best, after which others are worth more
_LEARNING = 30  # runs before the model may say that it knows enough
_TPE_AFTER = 40  # runs that parzen estimators need before they know anything


def explore(evaluator: Evaluator, keep: int, seed: int) -> None:
    """Run until ``keep`` runs are left, or no gain worth having is expected several times in a row."""
    quiet = 0
    while evaluator.runs_left() > keep and quiet < _PATIENCE:
        step = len(evaluator.trials)
        points = _candidates(evaluator, seed, step)
        means, covariance = evaluator.effects().predict(points)
        keepers = np.argsort(means - np.sqrt(np.maximum(covariance.diagonal(), 0)), kind="stable")[
            :_LOOKED_AT
        ]
        points = [points[index] for index in keepers]
        means, covariance = means[keepers], covariance[np.ix_(keepers, keepers)]
        best = rank(evaluator)[0]
        random = np.random.default_rng([seed, step])
        root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(points)))
        draws = means[:, None] + root @ random.standard_normal((len(points), 64))
        # What knowing the truth would gain over staying with the best: its own uncertainty is no hope.
        own = draws[points.index(best.point)] if best.point in points else best.mean
        hoped = float(np.maximum(0.0, own - draws.min(axis=0)).mean())
        quiet = quiet + 1 if hoped < _ENOUGH and step >= _LEARNING else 0
        chosen = _choose(points, draws, best.point, evaluator)
        if chosen == best.point and evaluator.runs_of(chosen) >= _WELL_KNOWN:
            chosen = _second_look(evaluator, chosen) or chosen
        evaluator.run(chosen)


def _second_look(evaluator: Evaluator, best: Point) -> Point | None:
    """The best with a level of which a single run is all that is known: that run may have been disturbed.

    Of several the one that looks best by the model; None where there is none.
    """
    levels = [(index, level) for point in evaluator.points for index, level in enumerate(point) if level]
    counts = Counter(levels)
    once = [
        (*best[:index], level, *best[index + 1 :])
        for (index, level), runs in counts.items()
        if runs == 1 and best[index] != level
    ]
    once = [point for point in once if evaluator.may_work(point)]
    if not once:
        return None
    means, _ = evaluator.effects().predict(once)
    return once[int(means.argmin())]


def _choose(points: list[Point], draws: Array, best: Point, evaluator: Evaluator) -> Point:
    """Top-two: the winner of a draw, but now and then the best rival of what is well known already."""
    winners = [points[int(index)] for index in draws.argmin(axis=0)]
    if winners[0] == best and evaluator.runs_of(best) >= 2:
        return next((point for point in winners if point != best), best)
    return winners[0]


def _candidates(evaluator: Evaluator, seed: int, step: int) -> list[Point]:
    """Points worth a look: all of a small space; else around the best, crossed, proposed and at random."""
    levels = live_levels(evaluator)
    if prod(map(len, levels)) <= _ALL:
        return [point for point in product(*levels) if evaluator.may_work(point)]
    random = Random(f"mpiric search {seed} {step}")  # noqa: S311
    best = list(dict.fromkeys(only_live(entry.point, levels) for entry in rank(evaluator)[:8]))
    found: dict[Point, None] = dict.fromkeys(best)
    for point in best[:4]:
        for index, choices in enumerate(levels):
            found.update(dict.fromkeys((*point[:index], level, *point[index + 1 :]) for level in choices))
    for _ in range(300):
        parents = random.choice(best), random.choice(best)
        crossed = [random.choice(pair) for pair in zip(*parents, strict=True)]
        for _ in range(random.choice((0, 1, 2))):
            index = random.randrange(len(levels))
            crossed[index] = random.choice(levels[index])
        found[tuple(crossed)] = None
    if len(evaluator.points) >= _TPE_AFTER:
        found.update(
            dict.fromkeys(propose(evaluator.space, evaluator.points, evaluator.logs, seed + step, 8))
        )
    return [
        point
        for point in dict.fromkeys(only_live(each, levels) for each in found)
        if evaluator.may_work(point)
    ]
