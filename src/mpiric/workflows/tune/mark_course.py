"""How long a tune's runs are: whole, or to a mark; why, and what an interrupted tune had fixed."""

from collections.abc import Mapping
from dataclasses import asdict, replace

from mpiric.model.errors import MpiricError
from mpiric.model.marks import MarkPair
from mpiric.model.pace import MarkKey
from mpiric.tuning.marks.window import MarkWindow
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.trials.find_marks import FoundMarks
from mpiric.workflows.trials.learn_marks import MarkWishes
from mpiric.workflows.tune.request import TuneRequest

_EVENT = "marks"


def why_whole(request: TuneRequest) -> str:
    """Why every run goes to its end, however long; "" where it may end at a mark.

    Raises MpiricError where the user names a mark as well.
    """
    reasons = {
        "--to-the-end": request.to_the_end,
        "--in-place": request.in_place and request.mark is None,
        "--check: your judge looks at whole runs": bool(request.check_command),
        "--array: its jobs learn each for itself": request.spread is not None,
        "--vary-ranks and --vary-nodes: other ranks make other calls": (
            request.allowed.vary_ranks or request.allowed.vary_nodes
        ),
        "--site: its defaults hold for whole runs": request.site,
        "--objective main, which is of whole runs": request.objective.text == "main",
        "--objective command:…: it looks at what whole runs leave": bool(request.objective.command),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), "")
    if reason and request.mark is not None:
        raise MpiricError(f"--mark ends runs at a mark, and {reason.partition(':')[0]} needs whole runs")
    return f"runs are whole because of {reason}" if reason else ""


def wishes_of(request: TuneRequest, log: TuneLog) -> MarkWishes:
    """What is asked of marks; those of an interrupted tune stay."""
    wishes = MarkWishes(request.budget_s, request.after_s, request.length_s, request.mark)
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
