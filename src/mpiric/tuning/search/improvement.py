"""Expected improvement over the best point, where each run may have been disturbed.

If the gain of a point over the best is distributed as N(m, s²), its expected improvement is E[max(gain, 0)].
Without a run that may have been disturbed (`disturbance`), other points may be better than the best; the
probability of the disturbance is their weight. So settings whose only run was bad are tried again when
nothing better remains.

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
    """Return the expected gain of each point over the best, as a logarithm."""
    gains, disturbed = effects.gains(points, best), effects.disturbed()
    with_all_runs = _positive_part(gains.mean, gains.variance)
    without_one = _positive_part(gains.mean_without, gains.variance_without)
    return np.asarray(with_all_runs * max(0.0, 1 - disturbed.sum()) + without_one @ disturbed)


def _positive_part(mean: Array, variance: Array) -> Array:
    """Return E[max(X, 0)] of normal distributions."""
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    ratio = mean / deviation
    density = np.exp(-0.5 * ratio**2) / sqrt(2 * pi)
    cumulative = np.asarray(0.5 * (1 + np.vectorize(erf, otypes=[float])(ratio / sqrt(2))))
    return np.asarray(mean * cumulative + deviation * density)
