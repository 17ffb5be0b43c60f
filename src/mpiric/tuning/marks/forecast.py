"""Forecasts: what a run of some length takes, by the parts that were measured of shorter ones."""

from mpiric.model.trial import Split


def forecast_s(split: Split, marks: float) -> float:
    """Wall time of a run of so many marks: start-up, marks × pace, end."""
    assert split.per_mark_s is not None
    return split.start_s + marks * split.per_mark_s + (split.end_s or 0.0)


def marks_of(split: Split, length_s: float) -> float:
    """How many marks a run of this wall time makes, at least one."""
    assert split.per_mark_s is not None
    return max(1.0, (length_s - split.start_s - (split.end_s or 0.0)) / split.per_mark_s)


def gain_of_longer(original: Split, tuned: Split, times: float) -> float:
    """Original ÷ tuned of a run whose main part is so many times as long; its start-up and end stay."""
    return _longer_s(original, times) / _longer_s(tuned, times)


def _longer_s(split: Split, times: float) -> float:
    assert split.main_s is not None
    return split.start_s + times * split.main_s + (split.end_s or 0.0)
