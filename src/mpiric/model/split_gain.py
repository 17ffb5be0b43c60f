"""Gain of each part of a run: start, main part and end."""

from dataclasses import dataclass

from mpiric.model.trial import Split


@dataclass(frozen=True)
class PartRatio:
    """Ratio original ÷ tuned of a part of a run, with a 95 % interval that is valid at any stopping time."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class SplitGain:
    """Medians of the parts of the proof's runs, and the ratios of the parts that its pairs compare."""

    original: Split
    tuned: Split
    start: PartRatio
    main: PartRatio  # ratio of the time per mark, if marks count steps
    longer: tuple[
        tuple[int, float], ...
    ]  # (factor, gain): gain of a run whose main part is longer by the factor
