"""What each setting does to the time, learned from every run so far: a Gaussian process on the logarithm.

The logarithm of the objective is the original's, plus an effect of each factor's level, plus an interaction
of each pair of levels, plus a remainder of each configuration, plus slow drift of the machine, plus noise.
All have Gaussian priors; their sizes are those of a small grid that explain the runs best (marginal
likelihood), smaller for settings that promise nothing. Every run informs every configuration that shares a
level with it, which is what makes a couple of dozen runs enough for some hundred configurations. Cost:
O(runs³) a fit, milliseconds for a hundred runs.

Sources: Rasmussen and Williams 2006 (Gaussian Processes, ch. 2 and 5); Duvenaud, Nickisch and Rasmussen 2011
(additive Gaussian processes); the interaction kernel is their second-order elementary polynomial.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpiric.tuning.search.space import Point, SearchSpace

Array = NDArray[np.floating[Any]]

_MAIN = (0.02, 0.06, 0.2, 0.6)  # typical size of an effect, as a logarithm
_INTERACTION = (0.1, 0.35, 1.0)  # of an interaction, relative to an effect
_NOISE = (0.004, 0.01, 0.025, 0.06, 0.15)
_DRIFT = (0.0, 1.5)  # relative to the noise
_DRIFT_RUNS = 10.0  # over how many runs the machine drifts
UNPROMISING = 0.2  # a knob that promises less is not expected to matter
_BASE = 1.0  # the level of the original, nearly free


@dataclass(frozen=True)
class Sizes:
    """Prior standard deviations."""

    main: float
    interaction: float
    noise: float
    drift: float


class Effects:
    """Fit of all runs so far; made anew after every run."""

    def __init__(
        self, space: SearchSpace, points: Sequence[Point], logs: Sequence[float], sizes: Sizes | None = None
    ) -> None:
        self._alike = [_trust(f.score) * _likeness(len(f.values), ordered=f.ordered) for f in space.factors]
        self._points = np.array(points, dtype=np.intp).reshape(len(points), len(space.factors))
        self._runs = np.arange(len(points), dtype=np.float64)
        self._centre = float(np.median(logs)) if len(logs) else 0.0
        self._logs = np.array(logs, dtype=np.float64) - self._centre
        shared, pairs, same = self._parts(self._points, self._points)
        apart = np.exp(-np.abs(self._runs[:, None] - self._runs[None, :]) / _DRIFT_RUNS)
        self.sizes = sizes or self._most_likely(shared, pairs, same, apart)
        self._factor = np.linalg.cholesky(self._covariance(self.sizes, shared, pairs, same, apart))
        self._weights = _solve(self._factor, self._logs)

    def predict(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Mean and covariance of the logarithm of the objective at these points, noise and drift left out."""
        wanted = np.array(points, dtype=np.intp).reshape(len(points), self._points.shape[1])
        across = self._signal(self.sizes, *self._parts(wanted, self._points))
        within = self._signal(self.sizes, *self._parts(wanted, wanted))
        half = np.linalg.solve(self._factor, across.T)
        return across @ self._weights + self._centre, within - half.T @ half

    def _parts(self, left: NDArray[Any], right: NDArray[Any]) -> tuple[Array, Array, Array]:
        """Likeness of levels of every two points: summed, over pairs of factors, and identity."""
        total = np.zeros((len(left), len(right)))
        squares = np.zeros_like(total)
        same = np.ones_like(total)
        for column, alike in enumerate(self._alike):
            likeness = alike[np.ix_(left[:, column], right[:, column])]
            total += likeness
            squares += likeness * likeness
            same *= left[:, column][:, None] == right[:, column][None, :]
        return total, (total * total - squares) / 2, same

    @staticmethod
    def _signal(sizes: Sizes, total: Array, pairs: Array, same: Array) -> Array:
        interaction = sizes.interaction**2
        changed = _BASE**2 + sizes.main**2 * total + interaction * pairs
        return np.asarray(changed + 0.1 * interaction * same)

    def _covariance(self, sizes: Sizes, total: Array, pairs: Array, same: Array, apart: Array) -> Array:
        noise = (sizes.noise**2 + 1e-8) * np.eye(len(self._logs))
        return self._signal(sizes, total, pairs, same) + sizes.drift**2 * apart + noise

    def _most_likely(self, total: Array, pairs: Array, same: Array, apart: Array) -> Sizes:
        best, best_score = Sizes(0.2, 0.05, 0.025, 0.0), -np.inf
        for main, interaction, noise, drift in product(_MAIN, _INTERACTION, _NOISE, _DRIFT):
            sizes = Sizes(main, main * interaction, noise, noise * drift)
            try:
                factor = np.linalg.cholesky(self._covariance(sizes, total, pairs, same, apart))
            except np.linalg.LinAlgError:
                continue
            half = np.linalg.solve(factor, self._logs)
            score = -0.5 * float(half @ half) - float(np.log(np.diag(factor)).sum())
            score -= 0.5 * np.log(noise / 0.02) ** 2 / 2 + (0.7 if drift else 0.0)  # mild: noise near 2 %
            if score > best_score:
                best, best_score = sizes, score
        return best


def _trust(score: float) -> float:
    """Share of the usual variance that an effect has by its promise: of most settings nothing is expected."""
    return min(1.0, max(score, 0.05) / UNPROMISING) ** 4


def _likeness(levels: int, *, ordered: bool) -> Array:
    """Likeness of every two levels; level 0 (as the user has it) has no effect, so it is like nothing."""
    alike = np.zeros((levels + 1, levels + 1))
    index = np.arange(levels)
    inner = np.exp(-np.abs(index[:, None] - index[None, :]) / 1.5) if ordered else np.eye(levels)
    alike[1:, 1:] = inner
    return alike


def _solve(factor: Array, values: Array) -> Array:
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, values)))
