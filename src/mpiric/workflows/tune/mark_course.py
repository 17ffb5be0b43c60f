"""How long a tune's runs are: whole, or to a mark; why, and what an interrupted tune had fixed."""

from dataclasses import replace

from mpiric import knobs
from mpiric.model.errors import MpiricError
from mpiric.tuning.store.events import TuneEvents
from mpiric.workflows.trials.kept_marks import kept_marks, kept_whole_marks
from mpiric.workflows.trials.learn_marks import MarkWishes
from mpiric.workflows.tune.request import TuneRequest

_FILE_KNOBS = frozenset().union(
    *(knob.chosen_by for knob in knobs.all_knobs().values() if knob.acts_on_files)
)


def why_whole(request: TuneRequest) -> str:
    """Why every run goes to its end, however long; "" where it may end at a mark.

    Raises MpiricError where the user names a mark as well.
    """
    reasons = {
        "--to-the-end": request.to_the_end,
        "--in-place": request.in_place and request.mark is None,
        "--check: your judge looks at whole runs": bool(request.check_command),
        "--vary-ranks and --vary-nodes: other ranks make other calls": (
            request.allowed.vary_ranks or request.allowed.vary_nodes
        ),
        "--site: its defaults hold for whole runs": request.site,
        "--objective main, which is of whole runs": request.objective.text == "main",
        "--objective io, which is of whole runs": request.objective.text == "io",
        "--only io: bytes are safe at the end of whole runs": bool(request.only)
        and set(request.only) <= _FILE_KNOBS,
        "--objective command:…: it looks at what whole runs leave": bool(request.objective.command),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), "")
    if reason and request.mark is not None:
        raise MpiricError(f"--mark ends runs at a mark, and {reason.partition(':')[0]} needs whole runs")
    return f"runs are whole because of {reason}" if reason else ""


def never_stopped(request: TuneRequest) -> bool:
    """Whether runs of the command as it is go to their end however long: half of one is left nowhere."""
    return request.to_the_end or (request.in_place and request.mark is None)


def wishes_of(request: TuneRequest, log: TuneEvents) -> MarkWishes:
    """What is asked of marks; those that a tune's log has stay."""
    wishes = MarkWishes(
        request.budget_s,
        request.after_s,
        request.length_s,
        request.mark,
        required=request.mark is not None,
    )
    return replace(wishes, fixed=kept_marks(log), whole_marks=kept_whole_marks(log))


def wishes_of_round(request: TuneRequest, log: TuneEvents) -> MarkWishes | None:
    """What jobs of a tune need when it is known how long its runs are: its marks or none, never others."""
    wishes = wishes_of(request, log)
    return replace(wishes, required=True) if wishes.fixed else None
