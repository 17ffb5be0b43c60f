"""What a tune whose runs ended at marks says of them: what was compared, and what was not looked at."""

from collections.abc import Iterable
from typing import Any

from mpiric.model.trial import Trial
from mpiric.model.tuned import FORECAST, NOT_RUN, STEPS, WHOLE_RUN, Timing, TunedMarks
from mpiric.workflows.tune.state import TuneState


def scope_of(state: TuneState) -> str:
    """What verdict and ratio are of."""
    if state.marks is None:
        return WHOLE_RUN
    return STEPS if state.request.length_s is None else FORECAST


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
    is_forecast = state.request.length_s is not None
    return {
        "scope": scope_of(state),
        "marks": TunedMarks(found.pair, found.why, found.window.growth),
        "forecast_s": (original.median_s, (tuned or original).median_s) if is_forecast else None,
        "whole_check": NOT_RUN,
        "stopped_trials": stopped,
    }
