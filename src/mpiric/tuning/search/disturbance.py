"""Detection of runs that were slowed by other processes.

The prediction of a run by all other runs is compared with a mixture of two distributions: the usual one, and
one of disturbed runs, which are slower by any factor. Source: Box and Tiao, Biometrika 55 (1968) 119.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHARE = 0.02  # expected share of disturbed runs
_SLOWER = 0.4  # mean logarithm of the factor by which a disturbed run is slower


Array = NDArray[np.floating[Any]]


def log_odds(inverse: Array, weights: Array) -> Array:
    """Return the logarithm of each run's odds to be disturbed; -inf if it was faster than predicted.

    ``inverse`` is the inverse of the runs' covariance, ``weights`` its product with the runs' logarithms; the
    rows of runs that are left out are zero. The first axis may enumerate several models.
    """
    certain = np.diagonal(inverse, axis1=-2, axis2=-1)
    variance = 1 / np.where(certain > 0, certain, 1.0)
    slower = weights * variance
    usual = -0.5 * slower**2 / variance - 0.5 * np.log(2 * np.pi * variance)
    unusual = -slower / _SLOWER - np.log(_SLOWER) + np.log(_SHARE / (1 - _SHARE))
    return np.where((slower > 0) & (certain > 0), unusual - usual, -np.inf)


def without_run(inverse: Array, run: NDArray[np.intp]) -> Array:
    """Return the inverse covariance of each model without one run per model; its row and column are zero."""
    models = np.arange(len(inverse))
    column = inverse[models, :, run]
    reduced = inverse - column[:, :, None] * column[:, None, :] / column[models, run][:, None, None]
    reduced[models, run, :] = reduced[models, :, run] = 0.0
    return np.asarray(reduced)
