"""Step markers of a program, and their event in the log of a tune: they are fixed for all its runs."""

from collections.abc import Iterable
from dataclasses import asdict
from statistics import median

from mpiric.lab.recording import Recorded
from mpiric.model.dataclass import dataclass
from mpiric.model.json_text import read_fields
from mpiric.model.marks import MarkPair
from mpiric.model.trial import Split, Trial
from mpiric.tuning.marks.split import marks_of
from mpiric.tuning.marks.window import MarkWindow
from mpiric.tuning.store.events import AMENDED, TuneEvents
from mpiric.tuning.store.store import TuneLog

_EVENT = "marks"


@dataclass(frozen=True)
class StepMarkers:
    """Two step markers between which runs are compared, the reason for them, and the runs that show them."""

    pair: MarkPair
    window: MarkWindow
    why: str
    whole_marks: int | None = None  # number of markers in a complete run; None: unknown
    recorded: Recorded | None = None  # record of the run in which they were found
    why_unrecorded: str = ""
    originals: tuple[Trial, ...] = ()  # runs of the original that end at the last one and agree

    def marks_of_length(self, length_s: float) -> float:
        """Return the number of markers in a run of the original of this length."""
        splits = [trial.split for trial in self.originals if trial.split]
        start_s = median(split.start_s for split in splits)
        per_mark_s = median(split.per_mark_s or 0.0 for split in splits)
        return marks_of(Split(start_s, per_mark_s=per_mark_s), length_s)


def keep_marks(log: TuneLog, marks: StepMarkers, originals: Iterable[Trial] = ()) -> None:
    """Log the step markers of a tune, and their number in a complete run if it is known.

    ``originals`` are runs that ended before the markers were fixed; their objectives are logged as well.
    """
    length = {} if marks.whole_marks is None else {"whole_marks": marks.whole_marks}
    pair, window = asdict(marks.pair), asdict(marks.window)
    log.append(_EVENT, {"pair": pair, "window": window, "why": marks.why, **length})
    for trial in originals:
        log.append(AMENDED, {"number": trial.number, "objective": trial.objective})


def kept_marks(log: TuneEvents) -> StepMarkers | None:
    """Return the logged step markers; None for complete runs or another version."""
    event = next(iter(log.named(_EVENT)[::-1]), {})
    try:
        pair, window = read_fields(MarkPair, event.get("pair")), read_fields(MarkWindow, event.get("window"))
    except ValueError:
        return None
    if not (1 <= pair.first < pair.last and window.first < window.last and window.first_s < window.last_s):
        return None
    count = event.get("whole_marks")
    whole_marks = count if isinstance(count, int) and count > 0 else None
    return StepMarkers(pair, window, str(event.get("why", "")), whole_marks)
