"""The last word of a search: the fewest settings that are as fast as the winner, by runs in pairs.

The model that ranked the winner cannot tell a setting that does nothing from one that was lucky when the
machine was quiet. So the part of the winner that makes the large differences runs against all of it in
turns; a setting more joins only when the part is shown to be slower.
"""

from collections.abc import Callable
from math import log
from statistics import median

from mpiric.model.trial import Outcome, Trial
from mpiric.tuning.bench import Bench
from mpiric.tuning.ranking import SHOWN, contributions, rank
from mpiric.tuning.space import Point

_LARGE = 0.05  # what the model believes to contribute more belongs to the part from the start
_FEWEST, _MOST = 3, 8  # pairs of one comparison
_MAJORITY = 7  # of the most pairs that must agree before something counts as shown


def settle(bench: Bench, tell: Callable[[Trial], None]) -> None:
    """Name the smallest part of the winner that is not shown to be slower, in ``bench.settled``."""
    ranked = rank(bench)
    if not ranked or not any(ranked[0].point):
        return
    winner = ranked[0].point
    gains = contributions(bench, winner)
    order = sorted(gains, key=lambda index: -gains[index])
    start = max(1, sum(gain > _LARGE for gain in gains.values()))
    for size in range(start, len(order)):
        part = tuple(level if index in order[:size] else 0 for index, level in enumerate(winner))
        if bench.may_work(part) and _keeps_up(bench, part, winner, tell):
            bench.settled = part
            return
    bench.settled = winner


def _keeps_up(bench: Bench, part: Point, winner: Point, tell: Callable[[Trial], None]) -> bool:
    """Whether the part is not shown to be slower than the winner."""
    losses: list[float] = []
    while len(losses) < _MOST:
        turn = (part, winner) if len(losses) % 2 else (winner, part)
        times = {point: _objective(bench.run(point), tell) for point in turn}
        one, other = times[part], times[winner]
        if one is None or other is None:
            return one is not None
        losses.append(log(one / other))
        if len(losses) >= _FEWEST and min(losses) > SHOWN:
            return False
        if len(losses) > _FEWEST and median(losses) <= 0:
            return True
    return median(losses) <= SHOWN or sum(loss > 0 for loss in losses) < _MAJORITY


def _objective(trial: Trial, tell: Callable[[Trial], None]) -> float | None:
    """What it took; None when it cannot be used."""
    tell(trial)
    return trial.objective if trial.outcome is Outcome.OK and trial.objective else None
