"""Run: request of a plan, with its time limit. Trial: its judged result. Plan: generator of runs."""

from collections.abc import Generator, Mapping
from dataclasses import field
from enum import Enum
from typing import TypeVar

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.pace import RunMarks
from mpiric.model.record import ProcessState
from mpiric.model.situation import RankSeen, Situation


class Phase(str, Enum):
    """Purpose of a trial; a proof uses only its own trials."""

    OBSERVE = "observe"
    RECORD = "record"  # uses the recording runtime, whose overhead makes it incomparable with other phases
    SEARCH = "search"
    PROOF = "proof"
    FINISH = "finish"  # complete run, if other trials end at a mark
    HISTORY = "history"


class Outcome(str, Enum):
    """Result of a trial."""

    OK = "ok"
    FAILED = "failed"  # exit status differs from the original's
    TIMED_OUT = "timed out"
    DIFFERENT = "different output"
    REFUSED = "refused"  # could not be started, or the configuration cannot be rendered
    GREEDY = "too much memory"  # exceeded the memory limit for allocator and page knobs
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Split:
    """Run divided into start, main part and end, by the clock of the launch; seconds.

    The main part is between MPI_Init and MPI_Finalize. If marks count its steps, the time per mark replaces
    it, and the start includes everything before the first step.
    """

    start_s: float
    main_s: float | None = None
    end_s: float | None = None
    per_mark_s: float | None = None
    # Time in file operations of the rank with the longest time, if it was recorded.
    io_s: float | None = None
    # Only for a stopped run: start_s is then an upper bound, other times are lower bounds.
    start_from_s: float | None = None


@dataclass(frozen=True)
class Trial:
    """Execution of a launch; ``objective`` is minimised by the search (wall time by default)."""

    configuration: Configuration
    phase: Phase
    outcome: Outcome
    wall_s: float
    objective: float | None = None  # None unless the outcome is OK
    exit_status: int = 0  # negative: number of the signal that ended it
    reason: str = ""  # reason for a rejection, as a sentence
    stdout: str = ""  # paths of its output files
    stderr: str = ""
    started_at: str = ""  # ISO 8601, UTC
    ended_unix_s: float = 0.0  # end of the launcher; 0: unknown
    rss_peak_bytes: int = 0
    number: int = 0
    pair: int = -1  # round of the proof; in its simplest form a pair
    replicate: int = 0  # number among the runs of its configuration in the round; -1: without one unit
    at_least: float | None = None  # lower bound of the objective of a run stopped at its pair's limit
    block: str = ""  # id of runs made consecutively on the same nodes, if several were made at the same time
    split: Split | None = None  # None if the runtime did not observe the run
    safe_s: float | None = None  # time from start until all data was on the servers; None: not measured
    written_bytes: int = 0  # bytes in files that it created or changed
    came_early: bool = False  # stopped before the end of the program, because the required data was complete
    disturbed: bool = False  # other processes took CPUs from it
    # Not logged:
    ranks: tuple[RankSeen, ...] = field(default=(), compare=False, repr=False)  # observed through /proc
    marks: RunMarks | None = field(default=None, compare=False, repr=False)
    took_s: float = field(default=0.0, compare=False)  # duration including setup and clean-up; 0: unknown
    runs: int = field(default=1, compare=False)  # number of runs until it could be judged
    doing: str = field(default="", compare=False)  # activity of its ranks when it was ended


@dataclass(frozen=True)
class Usage:
    """Resource usage of all processes of a launch, measured by getrusage; times in seconds."""

    user_s: float = 0.0
    system_s: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0


@dataclass(frozen=True)
class Execution:
    """Launch that has ended; none of its processes is left on this node."""

    outcome: Outcome  # OK, FAILED, TIMED_OUT, INTERRUPTED, or REFUSED if it could not be started
    wall_s: float  # time from just before fork to the end of the launcher
    exit_status: int  # negative: number of the signal that ended it
    reason: str = ""  # a sentence unless the outcome is OK
    usage: Usage = Usage()
    rss_peak_bytes: int = 0  # maximum over the processes
    ranks: tuple[RankSeen, ...] = ()  # if observed: an entry for each rank, in rank order
    strays: tuple[str, ...] = ()  # names of processes that outlived the launcher and were terminated
    stuck: tuple[str, ...] = ()  # names of processes that SIGKILL could not end
    started_ns: int = 0  # CLOCK_MONOTONIC of this host just before fork
    came_early: bool = False  # ended early, because the required data was complete
    disturbed: bool = False  # other processes took CPUs from it
    # States of the ranks of a launch that did not end in time, by number; without ranks, of its launchers.
    states: Mapping[str, ProcessState] = field(default_factory=dict)


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


class Narrator:
    """Receiver of progress reports; this one ignores them, the command line shows them."""

    def phase(self, title: str) -> None:
        """Report the start of a new part of the work."""

    def say(self, text: str) -> None:
        """Report a line that stays on the screen."""

    def found(self, finding: Finding) -> None:
        """Report a finding immediately."""

    def trial(self, trial: Trial, best: float | None, remaining_s: float) -> None:
        """Report the end of a trial; ``best`` is the best objective of the search so far."""
