"""What of a tune's budget its search and its benchmark may spend, so that a proof still fits."""

from collections.abc import Callable
from math import inf

from mpiric.tuning.budget import Budget
from mpiric.tuning.proof.stopping_rule import StoppingRule

_PROOF_SLACK = 1.5  # pairs a proof takes beyond the fewest, as a rule
_PROOFS = 2  # of the answer, and of what is left of it without what does not contribute
_WITHOUT_UNITS = 1.5  # runs of a proof for each of its pairs' runs: a third lacks a unit of the answer
_PROOF_SHARE = 0.25  # of the budget that is kept for a proof however short the runs are
_MOST_FOR_PROOF = 0.65  # of the budget, however long they are
_LIKELY_SHARE = 0.4  # the same where no proof fits
_BENCHMARK_SHARE = 0.25  # of the budget, or of the job it is made in


def search_budget(
    budget: Budget,
    run_s: float,
    best_s: Callable[[], float],
    rule: StoppingRule,
    *,
    explores: Callable[[], bool] = lambda: False,
    keeps: Callable[[], bool] | None = None,
) -> Budget:
    """What the search may spend, so that a proof still fits.

    A pair of the proof takes a run of the original (``run_s``) and one of the best so far (``best_s()``).
    Less is kept where no proof fits while ``explores()``, as knobs are left to try. A search that goes on
    after it was ended may spend all runs that are left, and keeps time for a proof only while ``keeps()``.
    """
    pairs = rule.fewest_pairs() * _PROOF_SLACK
    proof_runs = int(2 * pairs * _PROOFS * _WITHOUT_UNITS)
    left_s, left_runs = budget.remaining_s, budget.remaining_runs

    def proof_s() -> float:
        if keeps is not None and not keeps():
            return 0.0
        pair_s = run_s + min(run_s, best_s())
        if rule.fewest_pairs() * pair_s > left_s and explores():  # some pairs show what is likely
            return _LIKELY_SHARE * left_s
        needed = pairs * _PROOFS * _WITHOUT_UNITS * pair_s
        return min(max(needed, _PROOF_SHARE * left_s), _MOST_FOR_PROOF * left_s)

    if left_runs is not None and keeps is None:
        left_runs = max(left_runs // 2, left_runs - proof_runs)
    return Budget(
        None if budget.seconds is None else left_s,
        left_runs,
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


def proof_shortfall(budget: Budget, run_s: float, rule: StoppingRule, best_s: float = inf) -> str:
    """A sentence when the budget is too small for a proof, "" otherwise.

    Half of its runs are the original's (``run_s``), half those of a candidate (``best_s``; at most as long).
    """
    pairs, answer_s = rule.fewest_pairs(), min(run_s, best_s)
    needed_s = pairs * (run_s + answer_s)
    runs = budget.remaining_runs
    if runs is not None and runs < 2 * pairs + 2:
        return f"a proof takes at least {2 * pairs} runs; give --max-runs more"
    if needed_s * 1.3 > budget.remaining_s:
        minutes = max(1, round(needed_s * 2.5 / 60))
        each = (
            f"of {run_s:.3g} s" if answer_s == run_s else f"of {run_s:.3g} and of {answer_s:.3g} s by turns"
        )
        return (
            f"a proof takes at least {2 * pairs} runs {each}: "
            f"give a --budget of about {minutes}m, a smaller input, or a lower --confidence"
        )
    return ""
