"""Results of a tune whose runs ended at step markers: scope of the verdict, and limits of the comparison."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from mpiric.host.files import is_file
from mpiric.lab.mark_judge import kept_files
from mpiric.model.recipe import ProvedMarks
from mpiric.model.trial import Trial
from mpiric.model.tuned import FORECAST, STEPS, WHOLE_RUN, SplitGain, Timing, TunedMarks
from mpiric.outputs.files import files_in
from mpiric.outputs.not_a_number import first_nan
from mpiric.tuning.objective import TIMES
from mpiric.tuning.recipe import MOST_INPUTS
from mpiric.workflows.trials.learn_marks import WHOLE_RUNS
from mpiric.workflows.tune.answer_effects import leads_outside
from mpiric.workflows.tune.start import why_whole
from mpiric.workflows.tune.state import TuneState

_LIMITS = {  # flag of an original at its marker → consequence for the comparison
    "thread_multiple": "the program asked for MPI_THREAD_MULTIPLE: where several of its threads call MPI at "
    "once, which of their calls come before the mark may differ from run to run",
    "flush_failed": "at the mark not all that ranks had buffered could be written (a full disk, a pipe that "
    "nobody reads): that part of the output was not compared",
    "device_memory": "some results are in the memory of a GPU and were not compared",
}


def scope_of(state: TuneState) -> str:
    """Return the scope of verdict and ratio: complete runs, steps, or a forecast."""
    if state.marks is None:
        return WHOLE_RUN
    is_forecast = state.lab.judge.marks_of_length is not None and state.request.objective.text in TIMES
    return FORECAST if is_forecast else STEPS


def marks_fields(
    state: TuneState, trials: Iterable[Trial], original: Timing, tuned: Timing | None
) -> dict[str, Any]:
    """Return the fields of `Tuned` on step markers, by name."""
    stopped = sum(trial.came_early or trial.at_least is not None for trial in trials)
    marks = state.marks
    if marks is None:
        reason = why_whole(state.request)
        if reason and state.run_s > state.request.budget_s / WHOLE_RUNS:
            state.note(f"{reason}; else a run of {state.run_s:.3g} s would be ended at a mark, if it has one")
        return {"scope": WHOLE_RUN, "marks_why": state.marks_why, "stopped_trials": stopped}
    if growth := marks.window.growth:
        state.note(
            f"its steps take {abs(growth):.0%} {'longer' if growth > 0 else 'less'} at the end of the "
            "observed time than at its beginning: later steps may gain differently; --after TIME looks there"
        )
    ranks = [rank for trial in marks.originals if trial.marks for rank in trial.marks.ranks]
    for flag in sorted({flag for rank in ranks for flag in rank.flags} & _LIMITS.keys()):
        state.note(_LIMITS[flag])
    is_forecast = scope_of(state) == FORECAST and state.request.objective.text == "wall"
    return {
        "scope": scope_of(state),
        "marks": TunedMarks(
            marks.pair, marks.why, marks.window.growth, marks.window.first_s, marks.window.last_s
        ),
        "forecast_s": (original.median_s, (tuned or original).median_s) if is_forecast else None,
        "whole": state.whole_check,
        "stopped_trials": stopped,
    }


def proved_marks(state: TuneState, split: SplitGain | None) -> ProvedMarks | None:
    """Return the step markers for a recipe, where its proof ended."""
    marks = state.marks
    if marks is None or split is None or None in (split.original.per_mark_s, split.tuned.per_mark_s):
        return None
    printed = (
        path
        for original in marks.originals
        for path in (Path(original.stdout), *files_in(kept_files(original)).values())
    )
    return ProvedMarks(
        marks.pair,
        (split.original.start_s, split.tuned.start_s),
        (split.original.per_mark_s or 0.0, split.tuned.per_mark_s or 0.0),
        prints_nan=any(map(first_nan, printed)),
        inputs=_inputs(state),
    )


def _inputs(state: TuneState) -> tuple[str, ...]:
    """Return the files below the working directory that ranks only read, up to a limit."""
    behaviour = state.situation.observation.behaviour
    files = behaviour.files if behaviour else ()
    written = {file.path for file in files if file.writes}
    read = {file.path for file in files if file.reads} - written
    directory = Path(state.request.working_directory)
    below = (path for path in sorted(read) if path.isprintable() and not leads_outside(path))
    return tuple(islice((path for path in below if is_file(directory / path)), MOST_INPUTS))
