"""Effects of settings on the objective, estimated from all runs: a Gaussian process on its logarithm.

The logarithm of the objective is the original's, plus an effect of each factor's level, plus an interaction
of each pair of levels, plus a remainder of each configuration, plus slow drift of the machine, plus noise.
All have Gaussian priors. Their standard deviations are chosen from a small grid by marginal likelihood, and
are smaller for settings that promise nothing. Each run informs all configurations that share a level with it,
so that two dozen runs are enough for some hundred configurations. Cost: O(runs³) per fit, milliseconds for
some dozens of runs.

Disturbed runs, slowed by other processes, are excluded if that is clear: the prediction of a run by all other
runs is compared with a mixture of the usual distribution and one of disturbed runs, which are slower by any
factor.

Expected improvement. The gain of a point over the best is distributed as N(m, s²). After one more run with
noise σ its expected value has changed by a normal variable of variance s⁴ / (s² + σ²). The value of this run
is E[max(gain, 0)] of this distribution (the knowledge gradient). It is small where a run cannot tell two
configurations apart, however uncertain their difference is. While a disturbed run cannot be told from noise,
σ counts as 0. Without a run that may have been disturbed, other points may be better than the best; the
probability of the disturbance is their weight. So settings whose only run was bad are tried again when
nothing better remains.

A sparse fit expects most settings to have no effect. While one effect is large, the prior of all of them is
wide, and would take noise for small effects of the others. The search uses this fit to choose its answer; to
choose runs, it would give up settings too early.

Sources: Rasmussen and Williams 2006 (Gaussian Processes, ch. 2 and 5); Duvenaud, Nickisch and Rasmussen 2011
(additive Gaussian processes); the interaction kernel is their second-order elementary polynomial. Box and
Tiao, Biometrika 55 (1968) 119 (disturbed runs). Mockus 1974; Frazier, Powell and Dayanik, SIAM J. Control
Optim. 47 (2008) 2410 (knowledge gradient); Sundararajan and Keerthi, Neural Computation 13 (2001) 1103
(leaving out one run, in closed form).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import erf, log, pi, sqrt
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpiric.model.dataclass import dataclass
from mpiric.statistics.space import Point, SearchSpace

_MAIN = (0.02, 0.06, 0.2, 0.6)  # typical size of an effect, as a logarithm
_INTERACTION = (0.1, 0.35, 1.0)  # typical size of an interaction, relative to an effect
_NOISE = (0.004, 0.01, 0.025, 0.06, 0.15)
_DRIFT = (0.0, 1.5, 8.0)  # relative to the noise; the last one for a machine whose speed changes suddenly
_DRIFT_RUNS = 10.0  # correlation length of the drift, in runs
_RUNS_PER_DISTURBED = 8  # number of runs among which one may be excluded as disturbed
_DISTURBED_SHARE = 0.02  # expected share of disturbed runs
_SLOWER = 0.4  # mean logarithm of the factor by which a disturbed run is slower
_DISTURBED = 0.25  # variance of a disturbed run's logarithm, so that it has hardly any weight
UNPROMISING = 0.2  # score below which a knob is not expected to matter
_PASSIVE = 0.01  # factor of the prior variance of a factor that seems to have no effect
_CLEAR = 0.7  # logarithm of the odds (2 to 1) from which a factor is taken to have no effect
_CHANGED = 0.33  # difference of two logarithms of the original's time: 1.4 times, beyond most noise
_BASE = 1.0  # prior standard deviation of the original's logarithm, almost uninformative


Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Sizes:
    """Prior standard deviations."""

    main: float
    interaction: float
    noise: float
    drift: float
    trust: tuple[float, ...] = ()  # factor of each factor's prior variance; empty: by its score


class Effects:
    """Fit of all runs so far; a new one is made after each run."""

    def __init__(
        self,
        space: SearchSpace,
        points: Sequence[Point],
        logs: Sequence[float],
        sizes: Sizes | None = None,
        *,
        sparse: bool = False,
    ) -> None:
        self._likeness = [_likeness(len(factor.values), ordered=factor.ordered) for factor in space.factors]
        self._points = np.array(points, dtype=np.intp).reshape(len(points), len(space.factors))
        self._runs = np.arange(len(points), dtype=np.float64)
        self._centre = float(np.median(logs)) if len(logs) else 0.0
        self._logs = np.array(logs, dtype=np.float64) - self._centre
        apart = np.exp(-np.abs(self._runs[:, None] - self._runs[None, :]) / _DRIFT_RUNS)
        counts = np.ones(len(logs), dtype=bool)
        by_score = tuple(_trust(factor.score) for factor in space.factors)
        trust = sizes.trust if sizes and sizes.trust else by_score
        parts = self._trusting(trust)
        if sizes is None:
            sizes, counts = self._most_likely(*parts, apart)
            if sparse:
                trust = self._sparse(space, trust, sizes, counts, apart)
                parts = self._trusting(trust)
                sizes, counts = self._most_likely(*parts, apart)
        self.sizes = replace(sizes, trust=trust)
        self._doubt = np.where(counts, 0.0, _DISTURBED)
        self._inverse = np.linalg.inv(self._covariance(self.sizes, *parts, apart) + np.diag(self._doubt))
        self._weights = self._inverse @ self._logs

    def predict(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Return mean and covariance of the objective's logarithm at points, without noise and drift."""
        levels = np.array(points, dtype=np.intp).reshape(len(points), self._points.shape[1])
        across = self._signal(self.sizes, *self._parts(levels, self._points))
        within = self._signal(self.sizes, *self._parts(levels, levels))
        return across @ self._weights + self._centre, within - across @ self._inverse @ across.T

    def gains(self, points: Sequence[Point], best: Point) -> tuple[Array, Array, Array, Array]:
        """Estimate the gains of these points over the best, as logarithms.

        Return means and variances of the points, and both of each point and run with that run left out.
        """
        levels = np.array([*points, best], dtype=np.intp).reshape(len(points) + 1, self._points.shape[1])
        across = self._signal(self.sizes, *self._parts(levels, self._points))
        to_best = self._signal(self.sizes, *self._parts(levels, levels[-1:]))[:, 0]
        # Diagonal of _parts(levels, levels).
        alike = np.array([a.diagonal()[levels[:, column]] for column, a in enumerate(self._alike)])
        total = alike.sum(axis=0)
        pairs = (total * total - (alike * alike).sum(axis=0)) / 2
        prior = self._signal(self.sizes, total, pairs, np.ones(len(levels)))
        pull = across @ self._inverse  # weight of each run for each point
        shared = to_best - pull @ across[-1]
        variances = prior - (pull * across).sum(axis=1)
        means = across @ self._weights
        apart = (pull - pull[-1])[:-1]
        mean, variance = means[-1] - means[:-1], variances[:-1] + variances[-1] - 2 * shared[:-1]
        certain = np.diag(self._inverse)
        return (
            mean,
            variance,
            mean[:, None] + apart * (self._weights / certain),
            variance[:, None] + apart**2 / certain,
        )

    @property
    def disturbed_runs(self) -> int:
        """Return the number of runs that were clearly disturbed and are excluded."""
        return int((self._doubt > 0).sum())

    @property
    def noise(self) -> float:
        """Return the standard deviation of a run; 0 while too few runs could tell a disturbed one."""
        return self.sizes.noise if len(self._logs) >= _RUNS_PER_DISTURBED else 0.0

    def disturbed(self) -> Array:
        """Return the probability of each run that it was disturbed; 0 for runs that are excluded already."""
        chance = 1 / (1 + np.exp(-np.clip(_log_odds(self._inverse, self._weights), -50, 50)))
        return np.where(self._doubt > 0, 0.0, chance)

    def _sparse(
        self,
        space: SearchSpace,
        trust: tuple[float, ...],
        sizes: Sizes,
        counts: NDArray[np.bool_],
        apart: Array,
    ) -> tuple[float, ...]:
        """Return the trust in each factor after those without an effect have lost it.

        One after the other, the factor whose removal raises the posterior probability most is removed. A
        factor of several levels stays until two of them have run.
        """
        tested = [
            factor
            for factor, levels in enumerate(space.factors)
            if len(set(self._points[:, factor]) - {0}) >= min(2, len(levels.values))
        ]
        doubt = np.diag(np.where(counts, 0.0, _DISTURBED))

        def score(candidate: tuple[float, ...]) -> float:
            covariance = self._covariance(sizes, *self._trusting(candidate), apart) + doubt
            _, size = np.linalg.slogdet(covariance)
            return float(-0.5 * (self._logs @ np.linalg.solve(covariance, self._logs) + size))

        best, odds = score(trust), [_odds_of_no_effect(factor.score) for factor in space.factors]
        while tested:
            without = {f: (*trust[:f], min(trust[f], _PASSIVE), *trust[f + 1 :]) for f in tested}
            scores = {f: score(without[f]) for f in tested}
            factor = max(tested, key=lambda f: scores[f] + odds[f])
            if scores[factor] + odds[factor] <= best + _CLEAR:
                break
            trust, best = without[factor], scores[factor]
            tested.remove(factor)
        return trust

    def _trusting(self, trust: tuple[float, ...]) -> tuple[Array, Array, Array]:
        """Scale the prior variance of each factor by its trust; return the similarity of all runs."""
        self._alike = [value * alike for value, alike in zip(trust, self._likeness, strict=True)]
        return self._parts(self._points, self._points)

    def _parts(self, rows: NDArray[Any], columns: NDArray[Any]) -> tuple[Array, Array, Array]:
        """Return the similarity of points: sum over factors, sum over pairs of factors, and identity."""
        total = np.zeros((len(rows), len(columns)))
        squares = np.zeros_like(total)
        same = np.ones_like(total)
        for factor, alike in enumerate(self._alike):
            likeness = alike[np.ix_(rows[:, factor], columns[:, factor])]
            total += likeness
            squares += likeness * likeness
            same *= rows[:, factor][:, None] == columns[:, factor][None, :]
        return total, (total * total - squares) / 2, same

    @staticmethod
    def _signal(sizes: Sizes, total: Array, pairs: Array, same: Array) -> Array:
        interaction = sizes.interaction**2
        changed = _BASE**2 + sizes.main**2 * total + interaction * pairs
        return np.asarray(changed + 0.1 * interaction * same)

    def _covariance(self, sizes: Sizes, total: Array, pairs: Array, same: Array, apart: Array) -> Array:
        noise = (sizes.noise**2 + 1e-8) * np.eye(len(self._logs))
        return self._signal(sizes, total, pairs, same) + sizes.drift**2 * apart + noise

    def _most_likely(
        self, total: Array, pairs: Array, same: Array, apart: Array
    ) -> tuple[Sizes, NDArray[np.bool_]]:
        """Return the sizes that explain the runs best, and the mask of the runs that are not disturbed."""
        best, best_score = (Sizes(0.2, 0.05, 0.025, 0.0), np.ones(len(self._logs), dtype=bool)), -np.inf
        for main, interaction in product(_MAIN, _INTERACTION):
            several = [
                Sizes(main, main * interaction, noise, noise * drift)
                for noise, drift in product(_NOISE, _DRIFT)
            ]
            scores, counts = self._scores(several, total, pairs, same, apart)
            first = int(scores.argmax())
            if scores[first] > best_score:
                best, best_score = (several[first], counts[first]), float(scores[first])
        return best

    def _scores(
        self, several: Sequence[Sizes], total: Array, pairs: Array, same: Array, apart: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return the score of each size (log-likelihood plus log-prior) and the mask of undisturbed runs.

        Runs that are more likely disturbed than not are excluded one by one.
        """
        covariances = np.stack([self._covariance(sizes, total, pairs, same, apart) for sizes in several])
        inverses = np.linalg.inv(covariances)
        weights = inverses @ self._logs
        scores = -0.5 * (weights @ self._logs + np.linalg.slogdet(covariances)[1])
        counts = np.ones(weights.shape, dtype=bool)
        for _ in range(len(self._logs) // _RUNS_PER_DISTURBED):
            odds = _log_odds(inverses, weights)
            run = odds.argmax(axis=1)
            gain = np.maximum(0.0, odds.max(axis=1, initial=0.0))
            some = np.flatnonzero(gain > 0)
            if not len(some):
                break
            scores[some] += gain[some]
            counts[some, run[some]] = False
            inverses[some] = _without_run(inverses[some], run[some])
            weights[some] = inverses[some] @ self._logs
        noise = np.array([sizes.noise for sizes in several])
        drifts = np.array([sizes.drift > 0 for sizes in several])
        prior = 0.25 * np.log(noise / 0.02) ** 2 + 0.7 * drifts  # mild: noise near 2 %
        return np.asarray(scores - prior), counts


def _trust(score: float) -> float:
    """Return the factor of an effect's prior variance by its score: most settings have no effect."""
    return min(1.0, max(score, 0.05) / UNPROMISING) ** 4


def _odds_of_no_effect(score: float) -> float:
    """Return the logarithm of the prior odds that a factor has no effect; its score is the chance of one."""
    chance = min(max(score, 0.05), 0.95)
    return log((1 - chance) / chance)


def _likeness(levels: int, *, ordered: bool) -> Array:
    """Return the similarity of every two levels; level 0 (unchanged) has no effect and is similar to none."""
    alike = np.zeros((levels + 1, levels + 1))
    index = np.arange(levels)
    inner = np.exp(-np.abs(index[:, None] - index[None, :]) / 1.5) if ordered else np.eye(levels)
    alike[1:, 1:] = inner
    return alike


def _log_odds(inverse: Array, weights: Array) -> Array:
    """Return the logarithm of each run's odds to be disturbed; -inf if it was faster than predicted.

    ``inverse`` is the inverse of the runs' covariance, ``weights`` its product with the runs' logarithms; the
    rows of runs that are left out are zero. The first axis may enumerate several models.
    """
    certain = np.diagonal(inverse, axis1=-2, axis2=-1)
    variance = 1 / np.where(certain > 0, certain, 1.0)
    slower = weights * variance
    usual = -0.5 * slower**2 / variance - 0.5 * np.log(2 * np.pi * variance)
    unusual = -slower / _SLOWER - np.log(_SLOWER) + np.log(_DISTURBED_SHARE / (1 - _DISTURBED_SHARE))
    return np.where((slower > 0) & (certain > 0), unusual - usual, -np.inf)


def _without_run(inverse: Array, run: NDArray[np.intp]) -> Array:
    """Return the inverse covariance of each model without one run per model; its row and column are zero."""
    models = np.arange(len(inverse))
    column = inverse[models, :, run]
    reduced = inverse - column[:, :, None] * column[:, None, :] / column[models, run][:, None, None]
    reduced[models, run, :] = reduced[models, :, run] = 0.0
    return np.asarray(reduced)


def expected_improvement(effects: Effects, points: Sequence[Point], best: Point) -> Array:
    """Return the expected gain of each point over the best, as a logarithm."""
    mean, variance, mean_without, variance_without = effects.gains(points, best)
    disturbed, noise = effects.disturbed(), effects.noise**2
    with_all_runs = _positive_part(mean, _learned(variance, noise))
    without_one = _positive_part(mean_without, _learned(variance_without, noise))
    return np.asarray(with_all_runs * max(0.0, 1 - disturbed.sum()) + without_one @ disturbed)


def _learned(variance: Array, noise: float) -> Array:
    """Return the variance by which the expected gain changes after one more run."""
    variance = np.maximum(variance, 1e-12)
    return np.asarray(variance**2 / (variance + noise))


def _positive_part(mean: Array, variance: Array) -> Array:
    """Return E[max(X, 0)] of normal distributions."""
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    ratio = mean / deviation
    density = np.exp(-0.5 * ratio**2) / sqrt(2 * pi)
    cumulative = np.asarray(0.5 * (1 + np.vectorize(erf, otypes=[float])(ratio / sqrt(2))))
    return np.asarray(mean * cumulative + deviation * density)


def at_last_speed(
    points: Sequence[Point], logs: Sequence[float], disturbed: Sequence[bool] = ()
) -> list[float]:
    """Return the logarithms of the times that all runs would have at the speed of the last ones.

    Runs of the original that agree within 1.4 times are at one speed. Between the last run at one speed and
    the first at the next one, the change is placed where the runs differ least from the original at the speed
    of their side (least absolute deviations). Runs of the original during which other processes used the
    CPUs show no speed, unless most runs are of this kind.
    """
    is_usual = 2 * sum(disturbed) > len(disturbed)
    speeds: list[list[int]] = []
    for at, point in enumerate(points):
        if any(point) or (disturbed and disturbed[at] and not is_usual):
            continue
        if speeds and abs(logs[at] - median(logs[run] for run in speeds[-1])) <= _CHANGED:
            speeds[-1].append(at)
        else:
            speeds.append([at])
    levels = [median(logs[run] for run in runs) for runs in speeds]
    moved, start = list(logs), 0
    for (runs, level), (later_runs, later) in pairwise(zip(speeds, levels, strict=True)):
        between = range(runs[-1] + 1, later_runs[0] + 1)

        def deviation(change: int, low: float = level, high: float = later, runs: range = between) -> float:
            return sum(abs(logs[at] - (low if at < change else high)) for at in runs)

        change = min(between, key=deviation)
        for at in range(start, change):
            moved[at] += levels[-1] - level
        start = change
    return moved
