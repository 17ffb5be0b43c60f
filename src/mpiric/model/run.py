"""Run: what a plan asks for. Plan: a generator of runs that receives trials and returns a result."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from mpiric.model.configuration import Configuration
from mpiric.model.situation import Situation
from mpiric.model.trial import Phase, Trial


@dataclass(frozen=True)
class Run:
    """A run to be made; those of one round of a proof (``pair``) stay together."""

    configuration: Configuration
    phase: Phase
    pair: int = -1
    limit_s: float | None = None  # after which it is ended
    replicate: int = 0
    stop_at: float | None = None  # objective from which on no more of the run need be known
    observe: bool = False  # whether its ranks are looked at from outside
    probe: object = None  # how it is measured (`lab.probes.Probe`); None: as every run of its phase
    situation: Situation | None = None  # in which it is rendered; None: that of the lab


Result = TypeVar("Result")
Plan = Generator[Run, Trial, Result]
