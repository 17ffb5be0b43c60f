"""What a tune costs: the runs and core-hours that it is expected to take, and those that it took."""

from collections.abc import Iterable

from mpiric.lab.judge import cores_used
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.situation import Situation
from mpiric.model.trial import Trial
from mpiric.tuning.search.effects import UNPROMISING
from mpiric.workflows.tune.state import TuneState

_UNPROMISING_TRIED = 5  # values without promise that are tried, as a rule
_CONFIRMING = 4  # runs of the search on top of one of each value


def core_hours(trials: Iterable[Trial], situation: Situation) -> float:
    """Return the core-hours of runs, each on the cores of the command as it is."""
    return sum(trial.wall_s for trial in trials) * _cores(situation) / 3600


def expected_price(state: TuneState) -> str:
    """Say how many runs and core-hours the rest of a tune takes, as a rule; "" without a knob to try."""
    values = [
        dimension.score >= UNPROMISING for dimension in state.space.dimensions for _ in dimension.values
    ]
    if not values:
        return ""
    searched = values.count(True) + min(values.count(False), _UNPROMISING_TRIED) + _CONFIRMING
    runs = searched + 2 * state.request.rule.fewest_pairs()
    fit = state.budget.runs_that_fit(max(state.run_s, 1e-3))
    limited = " (the budget ends it there)" if fit < runs else ""
    hours = min(runs, fit) * state.run_s * _cores(state.situation) / 3600
    return f"expected: about {min(runs, fit)} more runs, {hours:.2g} core-hours{limited}"


def _cores(situation: Situation) -> int:
    return cores_used(render(Configuration(), situation), situation, ())
