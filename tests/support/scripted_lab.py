"""Scripted labs: functions answer the runs of a plan."""

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from mpiric.lab.lab import LoggedTrials, drive
from mpiric.model.configuration import Configuration
from mpiric.model.run import Run, Trial
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.prove import Proof, ProofState
from mpiric.plans.prove import prove as prove_plan
from mpiric.plans.search import SearchResult
from mpiric.plans.search import search as search_plan
from mpiric.plans.stages import NORMAL, Effort
from mpiric.statistics.claims import Errors, StoppingRule
from mpiric.statistics.space import Point, SearchSpace
from mpiric.tuning.objective import Budget

Script = Callable[[Configuration, float], Trial]  # answers a configuration and its time limit


def answering(script: Script) -> Callable[[Run], Trial]:
    """Return a lab that uses only the configuration and the limit of a run."""
    return lambda run: script(run.configuration, inf if run.limit_s is None else run.limit_s)


def search(
    space: SearchSpace,
    script: Script,
    budget: Budget,
    logged: Iterable[Trial] = (),
    *,
    seed: int = 0,
    effort: Effort = NORMAL,
    effect: float = 0.01,
    **options: Any,
) -> SearchResult:
    """Run a search whose runs are ``logged`` or answered by a script; ``options`` go to the evaluator."""
    evaluator = Evaluator(space, budget, **options)
    plan = search_plan(evaluator, effort, seed, effect)
    return drive(plan, answering(script), logged=LoggedTrials(logged))


def run_points(evaluator: Evaluator, script: Script, points: Iterable[Point]) -> None:
    """Run points, one after the other."""
    for point in points:
        drive(evaluator.run(point), answering(script))


def prove(
    measure: Callable[[Run], Trial],
    answer: Configuration,
    units: Sequence[tuple[str, ...]] = (),
    rule: StoppingRule | None = None,
    errors: Errors | None = None,
    logged: Iterable[Trial] = (),
    **options: Any,
) -> Proof:
    """Run a proof whose runs are ``logged`` or answered by a script; ``options`` go to its `ProofState`."""
    earlier = LoggedTrials(logged)
    state = ProofState(answer, units, rule or StoppingRule(), errors, round_of=earlier.round_of, **options)
    return drive(prove_plan(state), measure, logged=earlier)
