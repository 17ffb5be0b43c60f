"""Probability that a knob helps, from this user's earlier tunes of programs of the same class."""

from collections.abc import Iterable

from mpiric.model.dataclass import dataclass

_HALF_LIFE_DAYS = 90.0  # age at which a tune has half the weight, because libraries and machines change
_PROMISE_TUNES = 3.0  # weight of the promise by the observation of the program, in tunes
# Share of the time that a knob can affect below which its rank falls; larger upper bounds do not rank knobs.
_SMALL_SHARE = 0.1


@dataclass(frozen=True)
class PastTune:
    """Knobs of a finished tune: those tried, and those in an answer that was proved faster."""

    age_days: float
    tried: frozenset[str]
    useful: frozenset[str]


def likelihood(knob: str, promise: float, past: Iterable[PastTune]) -> float:
    """Return the promise, moved towards the share of earlier trials in which the knob was useful.

    Recent tunes have more weight.
    """
    tried = useful = 0.0
    for tune in past:
        if knob in tune.tried:
            weight = 0.5 ** (max(0.0, tune.age_days) / _HALF_LIFE_DAYS)
            tried += weight
            useful += weight * (knob in tune.useful)
    return (_PROMISE_TUNES * promise + useful) / (_PROMISE_TUNES + tried) if tried else promise


def worth(likely: float, ceiling: float) -> float:
    """Return the rank of a knob: its probability to help, reduced if it affects a small share of the time."""
    return likely * min(1.0, ceiling / _SMALL_SHARE)
