"""Where a gain is: original and tuned, part by part."""

from dataclasses import dataclass

from mpiric.model.trial import Split


@dataclass(frozen=True)
class PartRatio:
    """Original ÷ tuned of one part of a run, with its 95 % interval, valid whenever the proof stopped."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class SplitGain:
    """Medians of the parts over the runs of a proof, and the ratios of those that its pairs compare."""

    original: Split
    tuned: Split
    start: PartRatio
    main: PartRatio  # of the time per mark, where marks count steps
    longer: tuple[tuple[int, float], ...]  # times as long a main part → the gain of the whole then
