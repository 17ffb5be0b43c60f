"""Runs during which something else took a part of the machine: slower than their settings are.

What all other runs foretell of a run, against a mixture of two distributions of it: the usual one, and one of
disturbed runs, which are slower by any factor. Source: Box and Tiao, Biometrika 55 (1968) 119.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHARE = 0.02  # of all runs
_SLOWER = 0.4  # a disturbed one, on average; a logarithm


Array = NDArray[np.floating[Any]]


def log_odds(inverse: Array, weights: Array) -> Array:
    """Logarithm of the odds of each run to have been disturbed; -inf where it was faster than foretold.

    ``inverse`` is that of the runs' covariance, ``weights`` its product with their logarithms; rows of runs
    that are left out are zero. The first axis may be that of several models.
    """
    certain = np.diagonal(inverse, axis1=-2, axis2=-1)
    variance = 1 / np.where(certain > 0, certain, 1.0)
    slower = weights * variance
    usual = -0.5 * slower**2 / variance - 0.5 * np.log(2 * np.pi * variance)
    unusual = -slower / _SLOWER - np.log(_SLOWER) + np.log(_SHARE / (1 - _SHARE))
    return np.where((slower > 0) & (certain > 0), unusual - usual, -np.inf)


def without_run(inverse: Array, run: NDArray[np.intp]) -> Array:
    """The inverse of each model's covariance without one run of its own, whose row and column become zero."""
    models = np.arange(len(inverse))
    column = inverse[models, :, run]
    left = inverse - column[:, :, None] * column[:, None, :] / column[models, run][:, None, None]
    left[models, run, :] = left[models, :, run] = 0.0
    return np.asarray(left)
