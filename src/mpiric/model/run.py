"""Run: request of a plan, with its time limit. Trial: its judged result. Plan: generator of runs."""

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


@dataclass(frozen=True)
class TimeLimit:
    """Multiple of the time of earlier runs, plus a slack for work that does not grow with the program."""

    times: float
    slack_s: float

    def after(self, run_s: float) -> float:
        """Return the limit in seconds, if earlier runs took ``run_s``."""
        return self.times * run_s + self.slack_s


UNCHANGED = TimeLimit(4.0, 5.0)  # runs of the unchanged command differ by other load and by its start-up
RECORDED = TimeLimit(4.0, 10.0)  # ranks also write and merge their records
TO_MARKER = TimeLimit(10.0, 30.0)  # the time until the step marker is known from a single run
LEARNING = TimeLimit(10.0, 10.0)  # the runtime also tries slow algorithms of collectives
BENCHMARKED = TimeLimit(4.0, 5.0)  # algorithms that are much slower than the library's choice are of no use
PROVED = TimeLimit(4.0, 5.0)  # so are configurations that are much slower than the original
COMPLETE = TimeLimit(4.0, 30.0)  # a complete run after trials that ended at a marker also ends the program
