"""Parts of a budget: for the search, for a benchmark of collectives, and for the proof."""

from collections.abc import Callable
from math import inf

from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.objective import Budget

_PROOF_SLACK = 1.5  # pairs of a typical proof, relative to the fewest pairs
_WITH_SHARES = 3.0  # price of proved shares: a second, smaller answer, and a third of runs without a setting
_PROOF_SHARE = 0.25  # smallest share of the budget that is kept for a proof
_MOST_FOR_PROOF = 0.65  # largest share of the budget that is kept for a proof
_LIKELY_SHARE = 0.4  # share kept for some pairs if a whole proof does not fit
_BENCHMARK_SHARE = 0.25  # largest share of the budget, or of the job, for a benchmark


def search_budget(
    budget: Budget,
    pair_s: Callable[[], float],
    rule: StoppingRule,
    *,
    proves_shares: bool = False,
    explores: Callable[[], bool] = lambda: False,
    keeps: Callable[[], bool] | None = None,
) -> Budget:
    """Return the part of the budget that the search may spend, so that a proof still fits.

    A pair of the proof takes ``pair_s()``, a run of the original and one of the best configuration so far.
    The reserve is larger if the proof includes the share of each setting
    (``proves_shares``), and smaller if no proof fits while knobs are left to try (``explores()``). A search
    that is continued may spend all runs that are left, and reserves time only while ``keeps()``.
    """
    pairs = rule.fewest_pairs() * _PROOF_SLACK * (_WITH_SHARES if proves_shares else 1.0)
    left_s, left_runs = budget.remaining_s, budget.remaining_runs

    def proof_s() -> float:
        if keeps is not None and not keeps():
            return 0.0
        if rule.clear_pairs() * pair_s() > left_s and explores():
            return _LIKELY_SHARE * left_s
        return min(max(pairs * pair_s(), _PROOF_SHARE * left_s), _MOST_FOR_PROOF * left_s)

    if left_runs is not None and keeps is None:
        left_runs = max(left_runs // 2, left_runs - int(2 * pairs))
    return Budget(
        None if budget.seconds is None else left_s,
        left_runs,
        clock=budget.clock,
        reserve_s=proof_s,
    )


def benchmark_s(budget: Budget, run_s: float, rule: StoppingRule, job_s: float = inf) -> float:
    """Return the time limit of a benchmark of the program's collectives, so that a proof still fits.

    ``job_s`` is the time limit of the job that runs the benchmark.
    """
    left_s = budget.remaining_s
    proof_s = 2 * rule.fewest_pairs() * _PROOF_SLACK * run_s
    return max(0.0, min(_BENCHMARK_SHARE * min(left_s, job_s), left_s - proof_s))


def proof_shortfall(budget: Budget, run_s: float, rule: StoppingRule, best_s: float = inf) -> str:
    """Return a sentence if the budget is too small for a proof, "" otherwise.

    Half of the runs take ``run_s`` (the original), half ``best_s`` (a candidate).
    """
    pairs, answer_s = rule.clear_pairs(), min(run_s, best_s)
    needed_s = pairs * (run_s + answer_s)
    runs = budget.remaining_runs
    if runs is not None and runs < 2 * pairs + 2:
        return f"a proof takes at least {2 * pairs} runs; give --max-runs more"
    if needed_s * 1.3 > budget.remaining_s:
        minutes = max(1, round(needed_s * 2.5 / 60))
        lengths = (
            f"of {run_s:.3g} s" if answer_s == run_s else f"of {run_s:.3g} and of {answer_s:.3g} s by turns"
        )
        return (
            f"a proof takes at least {2 * pairs} runs {lengths}: "
            f"give a --budget of about {minutes}m, a smaller input, or a lower --confidence"
        )
    return ""
