"""End of the runs of a tune: complete runs or a step marker, and the reason."""

from dataclasses import replace

from mpiric import knobs
from mpiric.model.errors import MpiricError
from mpiric.tuning.store.events import TuneEvents
from mpiric.workflows.trials.kept_marks import kept_marks, kept_whole_marks
from mpiric.workflows.trials.learn_marks import MarkOptions
from mpiric.workflows.tune.request import TuneRequest

_FILE_KNOBS = frozenset().union(
    *(knob.chosen_by for knob in knobs.all_knobs().values() if knob.acts_on_files)
)


def why_whole(request: TuneRequest) -> str:
    """Return the reason for complete runs, "" if runs may end at a step marker.

    Raises MpiricError if the user names a marker as well.
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
    """Return whether runs of the unchanged command are always complete, as a partial run is of no use."""
    return request.to_the_end or (request.in_place and request.mark is None)


def mark_options_of(request: TuneRequest, log: TuneEvents) -> MarkOptions:
    """Return the options for step markers; markers in the log of the tune are kept."""
    options = MarkOptions(
        request.budget_s,
        request.after_s,
        request.length_s,
        request.mark,
        required=request.mark is not None,
    )
    return replace(options, fixed=kept_marks(log), whole_marks=kept_whole_marks(log))


def mark_options_of_round(request: TuneRequest, log: TuneEvents) -> MarkOptions | None:
    """Return the options for later jobs of a tune, which use its markers, or None for complete runs."""
    options = mark_options_of(request, log)
    return replace(options, required=True) if options.fixed else None
