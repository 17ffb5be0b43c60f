"""Expected improvement over the best so far by one more run, where each run may have been disturbed.

The gain of a point over the best is distributed as N(m, s²). After one more run with noise σ its expected
value has changed by a normal variable of variance s⁴ / (s² + σ²). The value of this run is E[max(gain, 0)] of
this distribution (the knowledge gradient). It is small where a run cannot tell two configurations apart,
however uncertain their difference is. While a disturbed run cannot be told from noise, σ counts as 0.

Without a run that may have been disturbed (`disturbance`) other points may be better than the best, and by
the chance of that they are worth a look. So settings with a single bad run are tried again when nothing
better is left.

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
    """The gain of each point over the best that can be hoped for; a logarithm."""
    gains, disturbed = effects.gains(points, best), effects.disturbed()
    noise = effects.noise**2
    all_count = _positive_part(gains.mean, _learned(gains.variance, noise))
    one_less = _positive_part(gains.mean_without, _learned(gains.variance_without, noise))
    return np.asarray(all_count * max(0.0, 1 - disturbed.sum()) + one_less @ disturbed)


def _learned(variance: Array, noise: float) -> Array:
    """Return the variance by which the expected gain changes after one more run."""
    variance = np.maximum(variance, 1e-12)
    return np.asarray(variance**2 / (variance + noise))


def _positive_part(mean: Array, variance: Array) -> Array:
    """E[max(X, 0)] of normal distributions."""
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    ratio = mean / deviation
    density = np.exp(-0.5 * ratio**2) / sqrt(2 * pi)
    return np.asarray(mean * _normal(ratio) + deviation * density)


def _normal(values: Array) -> Array:
    """The normal distribution function."""
    return np.asarray(0.5 * (1 + np.vectorize(erf, otypes=[float])(values / sqrt(2))))
