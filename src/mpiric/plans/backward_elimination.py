"""Backward elimination: the fewest settings that are as fast as the winner, by runs in pairs.

The model that ranked the winner cannot tell a setting that does nothing from one that was lucky when the
machine was quiet. So the part of the winner that makes the large differences runs against all of it in
turns; a setting more joins only when the part is shown to be slower. Then each setting that is left has to
stand the same test, the smallest first, until one does: it stays only if it is slower without it.

What counts as shown is held against the noise that the model has found in all runs, not against that of a few
pairs, so that it takes more pairs to show a small difference where runs scatter.
"""

from collections.abc import Sequence
from math import log, sqrt
from statistics import median

from mpiric.model.run import Plan
from mpiric.model.trial import Outcome, Trial
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import SHOWN, contributions, rank
from mpiric.tuning.search.space import Point

_LARGE = 0.05  # what the model believes to contribute more belongs to the part from the start
_FEWEST, _MOST = 3, 10  # pairs of one comparison
_SURE = 1.64 * 1.25  # standard deviations of a median, 1 chance in 20 at each look


def eliminate_backward(evaluator: Evaluator) -> Plan[None]:
    """Name the smallest part of the winner that is not shown to be slower, in ``evaluator.minimal``."""
    ranked = rank(evaluator)
    if not ranked or not any(ranked[0].point):
        return
    winner = ranked[0].point
    gains = contributions(evaluator, winner)
    order = [gain.factor for gain in gains]
    start = max(1, sum(gain.mean > _LARGE for gain in gains))
    for kept in range(start, len(order) + 1):
        part = _part(winner, order[:kept])
        evaluator.minimal = part  # unless it is shown to be slower
        if kept == len(order) or (yield from _replaces(evaluator, part, winner)):
            break
    for size in range(kept - 1, 0, -1):
        smaller = _part(winner, order[:size])
        if not (yield from _replaces(evaluator, smaller, part)):
            return
        evaluator.minimal = part = smaller


def _part(point: Point, kept: Sequence[int]) -> Point:
    return tuple(level if index in kept else 0 for index, level in enumerate(point))


def _replaces(evaluator: Evaluator, part: Point, whole: Point) -> Plan[bool]:
    """Whether the part works and is not shown to be slower than the whole."""
    if not evaluator.may_work(part):
        return False
    losses: list[float] = []
    while len(losses) < _MOST:
        turn = (part, whole) if len(losses) % 2 else (whole, part)
        times: dict[Point, float | None] = {}
        for point in turn:
            times[point] = _objective((yield from evaluator.run(point)))
        of_part, of_whole = times[part], times[whole]
        if of_part is None or of_whole is None:
            return of_part is not None
        losses.append(log(of_part / of_whole))
        if len(losses) >= _FEWEST and median(losses) > SHOWN + _doubt(evaluator, len(losses)):
            return False
        if len(losses) > _FEWEST and median(losses) <= 0:
            return True
    return True


def _doubt(evaluator: Evaluator, pairs: int) -> float:
    """The error that the median difference of so many pairs may have."""
    return _SURE * sqrt(2 / pairs) * evaluator.effects().sizes.noise


def _objective(trial: Trial) -> float | None:
    """Objective of a trial; None when it cannot be used."""
    return trial.objective if trial.outcome is Outcome.OK and trial.objective else None
