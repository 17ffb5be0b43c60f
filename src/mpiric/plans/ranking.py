"""Which of the measured points is the best, by all runs together."""

from dataclasses import dataclass

from mpiric.plans.evaluator import Evaluator
from mpiric.tuning.search.effects import UNPROMISING
from mpiric.tuning.search.space import Point, with_level

WORTH = 0.005  # a setting must contribute half a percent to stay while the search goes on
HEAVY_GAIN = 0.03  # a heavy setting, such as another MPI library, must contribute this much
SHOWN = 0.01  # and this to be proved and kept
SURE = 0.8  # standard deviations of the model's doubt, about 4 chances in 5
_EVIDENT = 2.33  # the same, 99 chances in 100
_MOST_LOST = 0.015  # by the estimate, however doubtful, for the sake of fewer settings
_MOST_LOST_SHARE = 0.1  # share of the whole gain, likewise


@dataclass(frozen=True)
class Ranked:
    """A measured point and the estimated logarithm of its objective."""

    point: Point
    mean: float
    deviation: float


def rank(evaluator: Evaluator) -> list[Ranked]:
    """Measured points that work, the best first.

    A point that is the best one with settings taken back goes before it when it is as good within `WORTH`.
    """
    measured = [
        p for p in dict.fromkeys(evaluator.points) if evaluator.may_work(p) and p not in evaluator.stopped
    ]
    if not measured:
        return []
    means, covariance = evaluator.effects().predict(measured)
    ranked = [
        Ranked(point, float(mean), float(max(variance, 0.0)) ** 0.5)
        for point, mean, variance in zip(measured, means, covariance.diagonal(), strict=True)
    ]
    ranked.sort(key=lambda entry: (entry.mean, entry.point))
    best = ranked[0]
    equal = [
        entry for entry in ranked if _within(entry.point, best.point) and entry.mean <= best.mean + WORTH
    ]
    first = min(equal, key=lambda entry: (sum(map(bool, entry.point)), entry.mean))
    return [first, *(entry for entry in ranked if entry is not first)]


def without_heavy(evaluator: Evaluator, ranked: list[Ranked]) -> list[Ranked]:
    """The ranking with points of heavy settings behind lighter ones that lose less than `HEAVY_GAIN`."""
    if not ranked or not evaluator.weight(ranked[0].point):
        return ranked
    best, weight = ranked[0], evaluator.weight(ranked[0].point)
    for entry in ranked:
        if evaluator.weight(entry.point) < weight and entry.mean - best.mean < HEAVY_GAIN:
            best, weight = entry, evaluator.weight(entry.point)
    return [best, *(entry for entry in ranked if entry is not best)]


def _within(smaller: Point, point: Point) -> bool:
    return all(mine in (0, its) for mine, its in zip(smaller, point, strict=True))


@dataclass(frozen=True)
class Estimate:
    """What a setting of a point takes off the logarithm of the objective, as the model sees it."""

    factor: int
    mean: float
    deviation: float

    @property
    def is_doubtful(self) -> bool:
        """Whether the runs so far do not show that it contributes."""
        return self.mean - SURE * self.deviation <= SHOWN

    @property
    def is_evident(self) -> bool:
        """Whether they show it beyond doubt."""
        return self.mean - _EVIDENT * self.deviation > SHOWN


def contributions(evaluator: Evaluator, point: Point) -> list[Estimate]:
    """What each setting of a point contributes, the largest first."""
    chosen = [index for index, level in enumerate(point) if level]
    if not chosen:
        return []
    singles = [with_level(point, index, 0) for index in chosen]
    means, covariance = evaluator.effects().predict([point, *singles])
    variances = covariance.diagonal()
    deviations = (variances[1:] + variances[0] - 2 * covariance[0, 1:]).clip(min=0.0) ** 0.5
    found = zip(chosen, means[1:] - means[0], deviations, strict=True)
    return sorted((Estimate(f, float(m), float(d)) for f, m, d in found), key=lambda each: -each.mean)


def slimmest(evaluator: Evaluator, best: Point) -> Point:
    """The smallest measured part of the best of which it is not shown that something is lost."""
    parts = [
        entry.point
        for entry in rank(evaluator)
        if _within(entry.point, best) and any(entry.point) and entry.point != best
    ]
    if not parts:
        return best
    means, covariance = evaluator.effects().predict([best, *parts, evaluator.original])
    variances = covariance.diagonal()
    doubts = (variances[1:-1] + variances[0] - 2 * covariance[0, 1:-1]).clip(min=0.0) ** 0.5
    losses = means[1:-1] - means[0]
    most_lost = max(_MOST_LOST, _MOST_LOST_SHARE * float(means[-1] - means[0]))
    equal = [
        (sum(map(bool, point)), float(loss), point)
        for point, loss, doubt in zip(parts, losses, doubts, strict=True)
        if loss - SURE * doubt <= SHOWN and loss <= most_lost
    ]
    return min(equal)[2] if equal else best


def live_levels(evaluator: Evaluator) -> list[list[int]]:
    """Levels worth combining, for each factor: of unpromising ones only those that have shown a gain.

    Of heavy factors those that were measured: no run is given to one before all light settings were tried.
    """
    factors = evaluator.space.factors
    everything = [
        sorted({0, *(point[index] for point in evaluator.points)})
        if factor.weight
        else list(range(len(factor.values) + 1))
        for index, factor in enumerate(factors)
    ]
    ranked = rank(evaluator)
    if not ranked or all(factor.score < UNPROMISING for factor in factors):
        return everything
    best = ranked[0].point
    return [
        levels if factor.score >= UNPROMISING else [0, *_gaining(evaluator, best, index)]
        for index, (factor, levels) in enumerate(zip(factors, everything, strict=True))
    ]


def _gaining(evaluator: Evaluator, best: Point, index: int) -> list[int]:
    """Measured levels of a factor that the model believes to gain more than it is sure of by chance."""
    tried = sorted({point[index] for point in evaluator.points} - {0})
    if not tried:
        return []
    points = [(*best[:index], level, *best[index + 1 :]) for level in (0, *tried)]
    means, _ = evaluator.effects().predict(points)
    return [level for level, mean in zip(tried, means[1:], strict=True) if means[0] - mean > SHOWN]


def only_live(point: Point, live: list[list[int]]) -> Point:
    """The point without levels that are not worth combining."""
    return tuple(level if level in levels else 0 for level, levels in zip(point, live, strict=True))
