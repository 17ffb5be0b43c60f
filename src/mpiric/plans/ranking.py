"""Ranking of the measured points and of the settings of a point, by the model of all runs."""

from collections.abc import Sequence

from mpiric.model.dataclass import dataclass
from mpiric.plans.evaluator import Evaluator
from mpiric.statistics.effects import UNPROMISING
from mpiric.statistics.space import Point, with_level

# Least contributions to the logarithm of the objective.
WORTH = 0.005  # threshold for staying in the best point during the search
SHOWN = 0.01  # threshold for being proved
HEAVY_GAIN = 0.03  # threshold for a heavy setting, such as another MPI library
# Confidence in standard deviations of the model.
SURE = 0.8  # 79 %
_EVIDENT = 2.33  # 99 %
# Largest estimated loss, however uncertain, that is accepted for fewer settings; the larger of both.
_MOST_LOST = 0.015
_MOST_LOST_SHARE = 0.1  # share of the total gain


@dataclass(frozen=True)
class Ranked:
    """Point with the estimated logarithm of its objective."""

    point: Point
    mean: float
    deviation: float


def predicted(evaluator: Evaluator, points: Sequence[Point]) -> list[Ranked]:
    """Return points, which may not have run yet, with their estimates."""
    means, covariance = evaluator.effects().predict(points)
    return [
        Ranked(point, float(mean), float(max(variance, 0.0)) ** 0.5)
        for point, mean, variance in zip(points, means, covariance.diagonal(), strict=True)
    ]


def rank(evaluator: Evaluator) -> list[Ranked]:
    """Return the measured points that work, best first.

    A part of the best point comes before it if it is at most `WORTH` slower.
    """
    measured = [
        p for p in dict.fromkeys(evaluator.points) if evaluator.may_work(p) and p not in evaluator.stopped
    ]
    if not measured:
        return []
    ranked = sorted(predicted(evaluator, measured), key=lambda entry: (entry.mean, entry.point))
    best = ranked[0]
    equal = [
        entry for entry in ranked if _is_part(entry.point, best.point) and entry.mean <= best.mean + WORTH
    ]
    first = min(equal, key=lambda entry: (sum(map(bool, entry.point)), entry.mean))
    return [first, *(entry for entry in ranked if entry is not first)]


def without_heavy(evaluator: Evaluator, ranked: list[Ranked]) -> list[Ranked]:
    """Move points with heavy settings behind lighter points, unless they clearly gain `HEAVY_GAIN`."""
    if not ranked or not evaluator.weight(ranked[0].point):
        return ranked
    best, weight = ranked[0], evaluator.weight(ranked[0].point)
    for entry in ranked:
        if evaluator.weight(entry.point) < weight and not _is_clear(evaluator, best.point, entry.point):
            best, weight = entry, evaluator.weight(entry.point)
    return [best, *(entry for entry in ranked if entry is not best)]


def _is_clear(evaluator: Evaluator, heavy: Point, light: Point) -> bool:
    ((gain, deviation),) = _losses(evaluator, heavy, [light])
    return gain - SURE * deviation >= HEAVY_GAIN


def _losses(evaluator: Evaluator, best: Point, points: Sequence[Point]) -> list[tuple[float, float]]:
    """Return by how much the logarithm of each point's objective is above the best's, and its deviation."""
    means, covariance = evaluator.effects().predict([best, *points])
    variances = covariance.diagonal()
    deviations = (variances[1:] + variances[0] - 2 * covariance[0, 1:]).clip(min=0.0) ** 0.5
    return list(zip((means[1:] - means[0]).tolist(), deviations.tolist(), strict=True))


def _is_part(smaller: Point, point: Point) -> bool:
    return all(part in (0, level) for part, level in zip(smaller, point, strict=True))


@dataclass(frozen=True)
class Estimate:
    """Estimated contribution of a setting: the decrease of the logarithm of the objective."""

    factor: int
    mean: float
    deviation: float

    @property
    def is_doubtful(self) -> bool:
        """Return whether the contribution may be below `SHOWN`."""
        return self.mean - SURE * self.deviation <= SHOWN

    @property
    def is_evident(self) -> bool:
        """Return whether the contribution is certainly above `SHOWN`."""
        return self.mean - _EVIDENT * self.deviation > SHOWN


def contributions(evaluator: Evaluator, point: Point) -> list[Estimate]:
    """Return the contribution of each setting of a point, largest first."""
    chosen = [index for index, level in enumerate(point) if level]
    if not chosen:
        return []
    singles = [with_level(point, index, 0) for index in chosen]
    losses = _losses(evaluator, point, singles)
    estimates = [Estimate(factor, *loss) for factor, loss in zip(chosen, losses, strict=True)]
    return sorted(estimates, key=lambda estimate: -estimate.mean)


def accepted_loss(evaluator: Evaluator, best: Point) -> float:
    """Return the largest estimated loss that is accepted if a point has fewer settings than the best one."""
    means, _ = evaluator.effects().predict([best, evaluator.original])
    return max(_MOST_LOST, _MOST_LOST_SHARE * float(means[1] - means[0]))


def slimmest(evaluator: Evaluator, best: Point) -> Point:
    """Return the smallest measured part of the best point without a significant loss."""
    parts = [
        entry.point
        for entry in rank(evaluator)
        if _is_part(entry.point, best) and any(entry.point) and entry.point != best
    ]
    if not parts:
        return best
    most_lost = accepted_loss(evaluator, best)
    equal = [
        (sum(map(bool, point)), loss, point)
        for point, (loss, doubt) in zip(parts, _losses(evaluator, best, parts), strict=True)
        if loss - SURE * doubt <= SHOWN and loss <= most_lost
    ]
    return min(equal)[2] if equal else best


def live_levels(evaluator: Evaluator) -> list[list[int]]:
    """Return the levels of each factor that are worth combining.

    Unpromising factors are limited to levels with a gain, heavy factors to measured levels, because heavy
    settings are tried after all light ones.
    """
    factors = evaluator.space.factors
    all_levels = [
        sorted({0, *(point[index] for point in evaluator.points)})
        if factor.weight
        else list(range(len(factor.values) + 1))
        for index, factor in enumerate(factors)
    ]
    ranked = rank(evaluator)
    if not ranked or all(factor.score < UNPROMISING for factor in factors):
        return all_levels
    best = ranked[0].point
    return [
        levels if factor.score >= UNPROMISING else [0, *_gaining(evaluator, best, index)]
        for index, (factor, levels) in enumerate(zip(factors, all_levels, strict=True))
    ]


def _gaining(evaluator: Evaluator, best: Point, index: int) -> list[int]:
    """Return the measured levels of a factor with an estimated gain above `SHOWN`."""
    tried = sorted({point[index] for point in evaluator.points} - {0})
    if not tried:
        return []
    means, _ = evaluator.effects().predict([with_level(best, index, level) for level in (0, *tried)])
    return [level for level, mean in zip(tried, means[1:], strict=True) if means[0] - mean > SHOWN]


def only_live(point: Point, live: list[list[int]]) -> Point:
    """Return the point without levels that are not worth combining."""
    return tuple(level if level in levels else 0 for level, levels in zip(point, live, strict=True))
