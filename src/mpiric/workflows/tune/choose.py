"""Which knobs a search may turn, what it may spend, and who goes to the proof."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from mpiric import knobs
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.knob import Knob
from mpiric.model.situation import Situation
from mpiric.tuning.budget import Budget
from mpiric.tuning.proof.proof import StoppingRule
from mpiric.tuning.search.space import Dimension, SearchSpace
from mpiric.workflows.launch.spelling import can_be_written, spell

_ADVISED_SCORE = 0.9  # of a knob that a record's advice names: tried before what only looks promising
_PROOF_SLACK = 1.5  # pairs a proof takes beyond the fewest, as a rule
_PROOF_SHARE = 0.25  # of the budget that is kept for a proof however short the runs are
_MOST_FOR_PROOF = 0.65  # of the budget, however long they are
_BENCHMARK_SHARE = 0.25  # of the budget, or of the job it is made in


def check_names(names: Sequence[str]) -> None:
    """Raise MpiricError for a word that is neither a knob nor a family."""
    known = set(knobs.all_knobs()) | {knob.family for knob in knobs.all_knobs().values()}
    for name in names:
        if name not in known:
            raise MpiricError(
                f"no knob or family is called {name!r}", hint=f"known are: {', '.join(sorted(known))}"
            )


def space_of(
    situation: Situation,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    site: bool = False,
    advised: Sequence[str] = (),
) -> SearchSpace:
    """Every knob that applies here, that the user lets us turn, with the values that can be written here.

    ``advised`` are knobs that the advice on a record names: the search turns them first.
    """
    return SearchSpace(
        tuple(
            dimension
            for knob in knobs.applicable(situation).values()
            if _wanted(knob, only, without)
            for dimension in [_dimension(knob, situation, is_advised=knob.name in advised, site=site)]
            if dimension.values
        )
    )


def is_worth_a_run(configuration: Configuration, situation: Situation) -> bool:
    """Whether it can be written down, and each of its knobs has something to do beside the others."""
    values = configuration.as_dict()
    idle = [rule for name in values if (rule := knobs.all_knobs()[name].idle_beside) is not None]
    return not any(rule(values, situation) for rule in idle) and can_be_written(configuration, situation)


def withheld_for_rounding(situation: Situation) -> tuple[str, ...]:
    """Knobs that would apply if the user allowed the last digits to change."""
    if situation.allowed.rounding:
        return ()
    freer = replace(situation, allowed=replace(situation.allowed, rounding=True))
    return tuple(name for name in knobs.applicable(freer) if name not in knobs.applicable(situation))


def search_budget(budget: Budget, run_s: float, best_s: Callable[[], float], rule: StoppingRule) -> Budget:
    """What the search may spend, so that a proof still fits.

    A pair of the proof takes a run of the original (``run_s``) and one of the best so far (``best_s()``).
    """
    pairs = rule.fewest_pairs() * _PROOF_SLACK
    left_s, left_runs = budget.remaining_s, budget.remaining_runs

    def proof_s() -> float:
        needed = pairs * (run_s + min(run_s, best_s()))
        return min(max(needed, _PROOF_SHARE * left_s), _MOST_FOR_PROOF * left_s)

    return Budget(
        None if budget.seconds is None else left_s,
        None if left_runs is None else max(left_runs // 2, left_runs - int(2 * pairs)),
        clock=budget.clock,
        reserve_s=proof_s,
    )


def benchmark_s(budget: Budget, run_s: float, rule: StoppingRule, job_s: float = inf) -> float:
    """Seconds that a benchmark of the program's collectives may take, so that a proof still fits.

    ``job_s`` is what the job has in which it is made.
    """
    left_s = budget.remaining_s
    proof_s = 2 * rule.fewest_pairs() * _PROOF_SLACK * run_s
    return max(0.0, min(_BENCHMARK_SHARE * min(left_s, job_s), left_s - proof_s))


def proof_shortfall(budget: Budget, run_s: float, rule: StoppingRule) -> str:
    """A sentence when the budget is too small for a proof, "" otherwise."""
    needed = 2 * rule.fewest_pairs() * run_s
    runs = budget.remaining_runs
    if runs is not None and runs < 2 * rule.fewest_pairs() + 2:
        return f"a proof takes at least {2 * rule.fewest_pairs()} runs; give --max-runs more"
    if needed * 1.3 > budget.remaining_s:
        minutes = max(1, round(needed * 2.5 / 60))
        return (
            f"a proof takes at least {2 * rule.fewest_pairs()} runs of {run_s:.3g} s: "
            f"give a --budget of about {minutes}m, a smaller input, or a lower --confidence"
        )
    return ""


def _wanted(knob: Knob, only: Sequence[str], without: Sequence[str]) -> bool:
    names = {knob.name, knob.family}
    return (not only or bool(names & set(only))) and not names & set(without)


def _dimension(knob: Knob, situation: Situation, *, is_advised: bool, site: bool) -> Dimension:
    promise = knob.promise(situation)
    suits_site = knob.site_default or (lambda *_: False)
    values = tuple(
        value
        for value in knob.values(situation)
        if spell(knob, value, situation) is not None and (not site or suits_site(value, situation))
    )
    return Dimension(
        knob=knob.name,
        values=values,
        score=max(promise.score, _ADVISED_SCORE) if is_advised else promise.score,
        try_first=tuple(value for value in promise.try_first if value in values),
    )
