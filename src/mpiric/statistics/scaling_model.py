"""Model of the time at sizes that were not run, or the reason why there is none.

The time is a sum of at most three terms with coefficients that are not negative, chosen by cross-validation:
each measured size is predicted from the others. The terms are taken from Extra-P (A. Calotoiu, T. Hoefler,
M. Poke, F. Wolf, "Using Automated Performance Modeling to Find Scalability Bugs in Complex Codes", SC'13),
whose performance model normal form is a sum of c·p^i·log^j(p). Compute/p, the serial part and p are also the
concurrency, contention and coherency of the Universal Scalability Law (N. J. Gunther, "Guerrilla Capacity
Planning", Springer 2007).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import exp, inf, log, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from mpiric.model.amount import share
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.scaling import Interval

_Floats = NDArray[np.float64]

# Terms of the time, as functions of the number of cores.
STRONG: Mapping[str, Callable[[float], float]] = {
    "compute/p": lambda p: 1 / p,
    "serial": lambda _: 1.0,
    "collectives·log p": lambda p: log2(p),
    "neighbours·p^-2/3": lambda p: p ** (-2 / 3),
    "imbalance·√(log p)/p": lambda p: sqrt(log2(p)) / p,
    "contention·p": lambda p: p,
}
WEAK: Mapping[str, Callable[[float], float]] = {
    "compute": lambda _: 1.0,
    "collectives·log p": lambda p: log2(p),
    "imbalance·√log p": lambda p: sqrt(log2(p)),
    "neighbours·(1-p^-1/3)": lambda p: 1 - p ** (-1 / 3),
    "contention·p": lambda p: p,
}
_FEWEST = 3  # sizes
_MOST_TERMS = 3
_MOST_CV_ERROR = 0.12  # root mean square of the relative errors of the cross-validation
_MOST_RESIDUAL = 3.0  # root mean square of the residuals in standard errors of the times
_LEAST_RESIDUAL = 0.015  # relative residual that is never refused
_FARTHEST = 8  # largest multiple of the largest measured size
_DRAWS = 400
_PLAUSIBLE = 1.5  # multiple of the smallest error of cross-validation up to which a model is plausible


class NotPredictableError(MpiricError):
    """The measured times show no mechanism that could be extrapolated."""


@dataclass(frozen=True)
class Point:
    """Measured time of a number of cores; ``error`` is the standard error of its logarithm."""

    cores: int
    time_s: float
    error: float


@dataclass(frozen=True)
class _Model:
    terms: tuple[str, ...]
    cv_error: float
    residual: float  # root mean square of the relative residuals


@dataclass(frozen=True)
class ScalingModel:
    """Plausible models of measured times, the best first."""

    points: tuple[Point, ...]
    is_weak: bool
    models: tuple[_Model, ...]

    @property
    def formula(self) -> str:
        """Return the best model with its coefficients in seconds."""
        best = self.models[0]
        coefficients = _fit(self.points, best.terms, self._functions)
        shown = [f"{c:.3g} s {name}" for name, c in zip(best.terms, coefficients, strict=True) if c > 0]
        return f"{' + '.join(shown)} (error of cross-validation {share(best.cv_error)})"

    def predict(self, cores: int) -> Interval:
        """Return the time with a 90 % interval. Raises NotPredictableError if the size is too far away.

        Times are drawn with their errors for each plausible model. The error of the cross-validation is
        added; it grows with the distance to the measured sizes.
        """
        largest = max(point.cores for point in self.points)
        if cores > _FARTHEST * largest:
            raise NotPredictableError(
                f"{cores} cores are more than {_FARTHEST} times the largest measured number, {largest}"
            )
        random = np.random.default_rng(0)
        errors = np.array([point.error for point in self.points])
        distance = max(0.0, log2(cores / largest))
        draws: list[float] = []
        for number in range(_DRAWS):
            model = self.models[number % len(self.models)]
            noise = np.exp(random.normal(0.0, 1.0, len(errors)) * errors)
            drawn = [
                Point(point.cores, point.time_s * factor, point.error)
                for point, factor in zip(self.points, noise, strict=True)
            ]
            coefficients = _fit(drawn, model.terms, self._functions)
            time_s = _value(cores, model.terms, coefficients, self._functions)
            spread = max(model.cv_error, model.residual) * (0.5 + 0.75 * distance)
            draws.append(log(time_s) + float(random.normal(0.0, spread)))
        low, middle, high = np.quantile(draws, (0.05, 0.5, 0.95))
        return Interval(exp(middle), exp(low), exp(high))

    @property
    def _functions(self) -> Mapping[str, Callable[[float], float]]:
        return WEAK if self.is_weak else STRONG


def fit_model(points: Sequence[Point], *, is_weak: bool) -> ScalingModel:
    """Fit the models of a curve. Raises NotPredictableError with the reason if none describes it."""
    points = tuple(sorted(points, key=lambda point: point.cores))
    if len(points) < _FEWEST:
        raise NotPredictableError(
            f"a model needs at least {_FEWEST} sizes with the same number of threads and a CPU for each "
            f"thread, not {len(points)}"
        )
    functions = WEAK if is_weak else STRONG
    required = "compute" if is_weak else "compute/p"
    optional = [name for name in functions if name != required]
    most_terms = min(_MOST_TERMS, max(2, len(points) - 2))
    candidates = [(required, *more) for count in range(most_terms) for more in combinations(optional, count)]
    models = sorted(
        (_judged(points, terms, functions) for terms in candidates),
        key=lambda model: (model.cv_error + 0.002 * len(model.terms), model.terms),
    )
    best = models[0]
    if best.cv_error > _MOST_CV_ERROR:
        raise NotPredictableError(
            "no model of few terms predicts the measured sizes from one another "
            f"(error {share(best.cv_error)})"
        )
    _refuse_other_mechanism(points, best, functions)
    limit = _PLAUSIBLE * best.cv_error + 0.005
    return ScalingModel(points, is_weak, tuple(model for model in models if model.cv_error <= limit))


def _refuse_other_mechanism(
    points: Sequence[Point], best: _Model, functions: Mapping[str, Callable[[float], float]]
) -> None:
    """Raise NotPredictableError if the residuals are much larger than the errors of the times."""
    coefficients = _fit(points, best.terms, functions)
    off = [log(point.time_s / _value(point.cores, best.terms, coefficients, functions)) for point in points]
    freedom = max(1, len(points) - len(best.terms))
    in_errors = sqrt(sum((o / p.error) ** 2 for o, p in zip(off, points, strict=True)) / freedom)
    if in_errors > _MOST_RESIDUAL and best.residual > _LEAST_RESIDUAL:
        at = max(range(len(points)), key=lambda index: abs(off[index]))
        raise NotPredictableError(
            f"the times deviate systematically from every model, most at {points[at].cores} cores "
            f"({100 * off[at]:+.0f} %): the mechanism changes between the sizes"
        )


def _judged(
    points: Sequence[Point], terms: tuple[str, ...], functions: Mapping[str, Callable[[float], float]]
) -> _Model:
    """Return the model with its errors."""
    errors = []
    for left_out in range(len(points)):
        remaining = [point for at, point in enumerate(points) if at != left_out]
        if len(remaining) < len(terms):
            return _Model(terms, inf, inf)
        coefficients = _fit(remaining, terms, functions)
        predicted = _value(points[left_out].cores, terms, coefficients, functions)
        errors.append(log(predicted / points[left_out].time_s) if predicted > 0 else inf)
    coefficients = _fit(points, terms, functions)
    residuals = [log(_value(p.cores, terms, coefficients, functions) / p.time_s) for p in points]
    return _Model(terms, _rms(errors), _rms(residuals))


def _fit(
    points: Sequence[Point], terms: Sequence[str], functions: Mapping[str, Callable[[float], float]]
) -> _Floats:
    """Return the coefficients of least relative error; terms with a negative one are left out in turn."""
    rows = np.array([[functions[name](point.cores) / point.time_s for name in terms] for point in points])
    weights = np.array([1 / max(point.error, 0.005) for point in points])
    active = list(range(len(terms)))
    coefficients = np.zeros(len(terms))
    while active:
        solution = np.linalg.lstsq(rows[:, active] * weights[:, None], weights, rcond=None)[0]
        if (solution >= 0).all():
            coefficients[active] = solution
            break
        active.pop(int(np.argmin(solution)))
    return coefficients


def _value(
    cores: int,
    terms: Sequence[str],
    coefficients: _Floats,
    functions: Mapping[str, Callable[[float], float]],
) -> float:
    return max(
        1e-12, float(sum(c * functions[name](cores) for name, c in zip(terms, coefficients, strict=True)))
    )


def _rms(values: Sequence[float]) -> float:
    return sqrt(sum(value * value for value in values) / len(values))
