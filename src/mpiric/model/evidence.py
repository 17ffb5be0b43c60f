"""Evidence: paired trials of two configurations and what they prove."""

from dataclasses import dataclass
from enum import Enum

from mpiric.model.configuration import Configuration


class Verdict(str, Enum):
    """What the pairs prove beyond the minimum effect."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"


@dataclass(frozen=True)
class Evidence:
    """``ratio`` is original ÷ candidate (above 1 the candidate is faster), the median over the pairs."""

    configuration: Configuration
    verdict: Verdict
    ratio: float
    low: float  # 95 % interval of the ratio, valid at whatever moment the proof stopped
    high: float
    pairs: tuple[tuple[float, float], ...]  # objective of (original, candidate)
    confidence: float  # at which the verdict was called
    minimum_effect: float  # 0.01: a difference below 1 % is not called
    stopped_because: str
    failures: tuple[str, ...] = ()  # runs of the proof that had to be thrown away, and why
