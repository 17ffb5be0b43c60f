"""How long a tune's runs are: whole, or to a mark; why, and what an interrupted tune had fixed."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from statistics import median

from mpiric.model.marks import MarkPair
from mpiric.model.pace import MarkKey
from mpiric.model.trial import Phase, Split
from mpiric.tuning.marks.forecast import marks_of
from mpiric.tuning.marks.window import MarkWindow
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.launch.parse_job import ParsedJob
from mpiric.workflows.trials.arming import may_carry_marks
from mpiric.workflows.trials.find_marks import FoundMarks, MarkWishes
from mpiric.workflows.tune.request import TuneRequest

_EVENT = "marks"


def why_whole(request: TuneRequest, parsed: ParsedJob) -> str:
    """Why every run goes to its end, however long; "" where it may end at a mark."""
    reasons = {
        "--to-the-end": request.to_the_end,
        "--in-place": request.in_place,
        "--check: your judge looks at whole runs": bool(request.check_command),
        "--array: its jobs learn each for itself": request.spread is not None,
        "--vary-ranks and --vary-nodes: other ranks make other calls": (
            request.allowed.vary_ranks or request.allowed.vary_nodes
        ),
        "--site: its defaults hold for whole runs": request.site,
        f"the objective {request.objective.text}": request.objective.text != "wall",
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), ""):
        return f"runs are whole because of {reason}"
    if not may_carry_marks(parsed):
        return "the ranks cannot be given a runtime that knows marks, as far as the launch line tells"
    return ""


def wishes_of(request: TuneRequest, log: TuneLog) -> MarkWishes:
    """What is asked of marks; those of an interrupted tune stay."""
    wishes = MarkWishes(request.budget_s, request.after_s)
    events = [event for event in log.read().events if event["event"] == _EVENT]
    return replace(wishes, fixed=_read(events[-1])) if events else wishes


def write_marks(log: TuneLog, found: FoundMarks) -> None:
    """Note the marks that the tune's runs end at, which are not to change any more."""
    log.append(_EVENT, {"pair": asdict(found.pair), "window": asdict(found.window), "why": found.why})


def _read(event: Mapping[str, object]) -> tuple[MarkPair, MarkWindow, str] | None:
    pair, window = event.get("pair"), event.get("window")
    if not isinstance(pair, dict) or not isinstance(window, dict):
        return None
    try:
        return (
            MarkPair(**{**pair, "key": MarkKey(**pair["key"])}),
            MarkWindow(**window),
            str(event.get("why", "")),
        )
    except (KeyError, TypeError):
        return None  # of another version


def marks_of_length(found: FoundMarks, length_s: float) -> float:
    """How many marks a run of this length makes."""
    splits = [trial.split for trial in found.originals if trial.phase is Phase.OBSERVE and trial.split]
    starts = median(split.start_s for split in splits)
    paces = median(split.per_mark_s or 0.0 for split in splits)
    return marks_of(Split(starts, per_mark_s=paces), length_s)
