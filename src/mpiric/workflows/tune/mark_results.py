"""What a tune whose runs ended at marks says of them: what was compared, and what was not looked at."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mpiric.model.split_gain import SplitGain
from mpiric.model.trial import Trial
from mpiric.model.tuned import FORECAST, STEPS, WHOLE_RUN, Timing, TunedMarks
from mpiric.model.whole_check import ProvedMarks
from mpiric.tuning.equivalence.not_a_number import first_nan
from mpiric.tuning.objective import TIMES
from mpiric.workflows.tune.state import TuneState


def scope_of(state: TuneState) -> str:
    """What verdict and ratio are of."""
    if state.marks is None:
        return WHOLE_RUN
    is_forecast = state.request.length_s is not None and state.request.objective.text in TIMES
    return FORECAST if is_forecast else STEPS


def marks_fields(
    state: TuneState, trials: Iterable[Trial], original: Timing, tuned: Timing | None
) -> dict[str, Any]:
    """Fields of `Tuned` by name."""
    stopped = sum(trial.came_early for trial in trials)
    found = state.marks
    if found is None:
        return {"scope": WHOLE_RUN, "marks_why": state.marks_why, "stopped_trials": stopped}
    if growth := found.window.growth:
        state.note(
            f"its steps take {abs(growth):.0%} {'longer' if growth > 0 else 'less'} at the end of what was "
            "seen than at its beginning: what comes later may gain otherwise"
        )
    is_forecast = scope_of(state) == FORECAST and state.request.objective.text == "wall"
    return {
        "scope": scope_of(state),
        "marks": TunedMarks(found.pair, found.why, found.window.growth),
        "forecast_s": (original.median_s, (tuned or original).median_s) if is_forecast else None,
        "whole": state.whole,
        "stopped_trials": stopped,
    }


def proved_marks(state: TuneState, split: SplitGain | None) -> ProvedMarks | None:
    """What a recipe says of the marks that its proof ended at."""
    found = state.marks
    if found is None or split is None or None in (split.original.per_mark_s, split.tuned.per_mark_s):
        return None
    return ProvedMarks(
        found.pair,
        (split.original.start_s, split.tuned.start_s),
        (split.original.per_mark_s or 0.0, split.tuned.per_mark_s or 0.0),
        prints_nan=any(first_nan(Path(trial.stdout)) for trial in found.originals),
    )
