"""Trial: one execution of a Launch and what was measured."""

from dataclasses import dataclass, field
from enum import Enum

from mpiric.model.configuration import Configuration
from mpiric.model.marks import RunMarks
from mpiric.model.situation import RankSeen


class Phase(str, Enum):
    """What a trial was run for; a proof never looks at trials of other phases."""

    OBSERVE = "observe"
    RECORD = "record"  # with the recording runtime in its ranks, which costs time: compared with no other
    SEARCH = "search"
    PROOF = "proof"
    FINISH = "finish"  # to the program's end, where others end at a mark
    HISTORY = "history"


class Outcome(str, Enum):
    """How a trial ended."""

    OK = "ok"
    FAILED = "failed"  # another exit status than the original's
    TIMED_OUT = "timed out"
    DIFFERENT = "different output"
    REFUSED = "refused"  # could not be started, or the configuration cannot be rendered
    GREEDY = "too much memory"  # the guard of allocator and page knobs
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Split:
    """One run cut into start-up, main part and end, by the clock of the launch; seconds.

    The main part lies between MPI_Init and MPI_Finalize. Where marks count its steps there is the time per
    mark instead, and start-up is all that comes before the first step.
    """

    start_s: float
    main_s: float | None = None
    end_s: float | None = None
    per_mark_s: float | None = None
    io_s: float | None = (
        None  # in calls on files, of the rank with most of it, where runs are recorded for it
    )
    start_from_s: float | None = None  # of a stopped run: start_s is the most then, other times the least


@dataclass(frozen=True)
class Trial:
    """One execution: ``objective`` is what the search minimises (wall time by default)."""

    configuration: Configuration
    phase: Phase
    outcome: Outcome
    wall_s: float
    objective: float | None = None  # None unless outcome is OK
    exit_status: int = 0  # negative: ended by that signal
    reason: str = ""  # why it was rejected, one sentence
    stdout: str = ""  # paths of what it printed
    stderr: str = ""
    started_at: str = ""  # ISO 8601, UTC
    ended_unix_s: float = 0.0  # when the launcher was gone; 0: unknown
    rss_peak_bytes: int = 0
    number: int = 0
    pair: int = -1  # round of the proof it belongs to; in its simplest form a pair
    replicate: int = 0  # of its configuration's runs in the round; -1 where it runs there without one unit
    at_least: float | None = None  # what is known of the objective of a run that its pair's limit stopped
    block: str = ""  # of runs made one after the other on the same nodes, where several were made at a time
    split: Split | None = None  # None where the runtime did not look at the run
    safe_s: float | None = None  # from its start until all that it wrote was on the servers; None: not looked
    written_bytes: int = 0  # in files that it made or changed
    came_early: bool = False  # it was ended before its program was done, all being known by then
    disturbed: bool = False  # other processes took CPUs from it
    # Known to the process that made it, and not logged:
    ranks: tuple[RankSeen, ...] = field(default=(), compare=False, repr=False)  # as seen from outside
    marks: RunMarks | None = field(default=None, compare=False, repr=False)
    took_s: float = field(default=0.0, compare=False)  # with all that surrounds it; 0: unknown
    runs: int = field(default=1, compare=False)  # made until it could be judged
