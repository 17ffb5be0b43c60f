"""How likely a knob is to help, by what helped programs of the same class in this user's own tunes."""

from collections.abc import Iterable
from dataclasses import dataclass

_HALF_LIFE_DAYS = 90.0  # libraries and machines change: a tune counts half after it
_PROMISE_TUNES = 3.0  # as many tunes are worth what the observation of the program promises
_SMALL = 0.1  # of the time: who can touch less is worth less; looser bounds say nothing of the order


@dataclass(frozen=True)
class PastTune:
    """What a tune that came to its end has tried, and what of it was in an answer proved faster."""

    age_days: float
    tried: frozenset[str]
    kept: frozenset[str]


def likelihood(knob: str, promise: float, past: Iterable[PastTune]) -> float:
    """The promise, moved towards how often the knob was kept where it was tried; younger tunes count more."""
    tried = kept = 0.0
    for tune in past:
        if knob in tune.tried:
            weight = 0.5 ** (max(0.0, tune.age_days) / _HALF_LIFE_DAYS)
            tried += weight
            kept += weight * (knob in tune.kept)
    return (_PROMISE_TUNES * promise + kept) / (_PROMISE_TUNES + tried) if tried else promise


def worth(likely: float, ceiling: float) -> float:
    """What to rank a knob by: how likely it helps, less where it can touch little of the time."""
    return likely * min(1.0, ceiling / _SMALL)
