"""Expected improvement over the best so far, where each run may have been disturbed.

With the gain of a point over the best distributed as N(m, s²), a run of it is worth E[max(gain, 0)]. Without
a run that may have been disturbed (`disturbance`) other points may be better than the best, and by the chance
of that they are worth a look. So settings of which one bad run is all that is known are tried again when
nothing better is left.

Sources: Mockus 1974; Sundararajan and Keerthi, Neural Computation 13 (2001) 1103 (leaving out one run, in
closed form).
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
    all_count = _positive_part(gains.mean, gains.variance)
    one_less = _positive_part(gains.mean_without, gains.variance_without)
    return np.asarray(all_count * max(0.0, 1 - disturbed.sum()) + one_less @ disturbed)


def _positive_part(mean: Array, variance: Array) -> Array:
    """E[max(X, 0)] of normal distributions."""
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    ratio = mean / deviation
    density = np.exp(-0.5 * ratio**2) / sqrt(2 * pi)
    return np.asarray(mean * _normal(ratio) + deviation * density)


def _normal(values: Array) -> Array:
    """The normal distribution function."""
    return np.asarray(0.5 * (1 + np.vectorize(erf, otypes=[float])(values / sqrt(2))))
