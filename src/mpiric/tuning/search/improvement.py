"""Expected improvement over the best so far by one more run, where each run may have been disturbed.

The gain of a point over the best is distributed as N(m, s²). After one more run with noise σ its expected
value has changed by a normal variable of variance s⁴ / (s² + σ²). The value of this run is E[max(gain, 0)] of
this distribution (the knowledge gradient). It is small where a run cannot tell two configurations apart,
however uncertain their difference is. While a disturbed run cannot be told from noise, σ counts as 0.

Without a run that may have been disturbed (`disturbance`), other points may be better than the best; the
probability of the disturbance is their weight. So settings whose only run was bad are tried again when
nothing better remains.

Sources: Mockus 1974; Frazier, Powell and Dayanik, SIAM J. Control Optim. 47 (2008) 2410 (knowledge gradient);
Sundararajan and Keerthi, Neural Computation 13 (2001) 1103 (leaving out one run, in closed form).
"""

from collections.abc import Sequence
from math import erf, pi, sqrt

import numpy as np

from mpiric.tuning.search.disturbance import Array
from mpiric.tuning.search.effects import Effects
from mpiric.tuning.search.space import Point


def expected_improvement(effects: Effects, points: Sequence[Point], best: Point) -> Array:
    """Return the expected gain of each point over the best, as a logarithm."""
    gains, disturbed = effects.gains(points, best), effects.disturbed()
    noise = effects.noise**2
    with_all_runs = _positive_part(gains.mean, _learned(gains.variance, noise))
    without_one = _positive_part(gains.mean_without, _learned(gains.variance_without, noise))
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
