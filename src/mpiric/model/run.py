"""Run: request of a plan. Plan: generator that yields runs, receives trials and returns a result."""

from collections.abc import Generator
from typing import TypeVar

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.situation import Situation
from mpiric.model.trial import Phase, Trial


@dataclass(frozen=True)
class Run:
    """Requested run; runs of one proof round (``pair``) are made on the same nodes."""

    configuration: Configuration
    phase: Phase
    pair: int = -1
    limit_s: float | None = None  # time limit
    replicate: int = 0
    stop_at: float | None = None  # objective at which the run may be stopped, because more is not needed
    observe: bool = False  # whether its ranks are observed through /proc
    probe: object = None  # method of measurement (`lab.probes.Probe`); None: default of its phase
    situation: Situation | None = None  # situation to render it in; None: the lab's


Result = TypeVar("Result")
Plan = Generator[Run, Trial, Result]
