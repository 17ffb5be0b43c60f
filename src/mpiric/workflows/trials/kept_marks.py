"""The step markers of a tune in its log, which are fixed for all its runs."""

from collections.abc import Iterable
from dataclasses import asdict

from mpiric.model.json_text import read_fields
from mpiric.model.marks import MarkPair
from mpiric.model.trial import Trial
from mpiric.tuning.marks.window import MarkWindow
from mpiric.tuning.store.events import AMENDED, TuneEvents
from mpiric.tuning.store.store import TuneLog

_EVENT = "marks"


def keep_marks(
    log: TuneLog, pair: MarkPair, window: MarkWindow, why: str, whole_marks: int | None = None
) -> None:
    """Log the step markers of a tune, and their number in a complete run if it is known."""
    length = {} if whole_marks is None else {"whole_marks": whole_marks}
    log.append(_EVENT, {"pair": asdict(pair), "window": asdict(window), "why": why, **length})


def keep_objectives(log: TuneLog, originals: Iterable[Trial]) -> None:
    """Log the objectives of runs that ended before the step markers were fixed."""
    for trial in originals:
        log.append(AMENDED, {"number": trial.number, "objective": trial.objective})


def kept_marks(log: TuneEvents) -> tuple[MarkPair, MarkWindow, str] | None:
    """Return the markers, their window, and the reason; None for complete runs or another version."""
    event = next((event for event in reversed(log.events) if event["event"] == _EVENT), {})
    try:
        pair, window = read_fields(MarkPair, event.get("pair")), read_fields(MarkWindow, event.get("window"))
    except ValueError:
        return None
    is_whole = 1 <= pair.first < pair.last and window.first < window.last and window.first_s < window.last_s
    return (pair, window, str(event.get("why", ""))) if is_whole else None


def kept_whole_marks(log: TuneEvents) -> int | None:
    """Return the number of markers in a complete run; None if no complete run was observed."""
    event = next((event for event in reversed(log.events) if event["event"] == _EVENT), {})
    number = event.get("whole_marks")
    return number if isinstance(number, int) and number > 0 else None
