"""Division of a tune's budget between search, benchmark and proof."""

import pytest

from mpiric.plans.budget import benchmark_s, proof_shortfall, search_budget
from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.objective import Budget


def _search_s(budget_s: float, run_s: float, best_s: float, *, proves_shares: bool = False) -> float:
    budget, rule = Budget(budget_s, clock=lambda: 0.0), StoppingRule()
    return search_budget(
        budget, lambda: run_s + min(run_s, best_s), rule, proves_shares=proves_shares
    ).remaining_s


@pytest.mark.parametrize("budget_s", [30.0, 100.0, 1000.0])
@pytest.mark.parametrize("run_s", [0.1, 1.0, 4.0])
def test_search_and_proof_both_get_a_share(budget_s: float, run_s: float):
    assert 0.3 * budget_s < _search_s(budget_s, run_s, run_s) <= 0.75 * budget_s


def test_a_fast_candidate_leaves_more_time_to_the_search():
    assert _search_s(150.0, 2.0, 0.25) > _search_s(150.0, 2.0, 2.0)


def test_a_proof_of_a_fast_candidate_fits_into_the_budget_with_the_search():
    left_for_proof = 50.0 - _search_s(50.0, 2.0, 0.25)
    assert left_for_proof >= StoppingRule().fewest_pairs() * (2.0 + 0.25)


def test_the_reserve_is_one_proof_or_the_proofs_of_an_answer_and_its_shares():
    pairs = 1.5 * StoppingRule().fewest_pairs()
    for proves_shares, proofs in ((False, 1), (True, 3)):
        reserve_s = pairs * 1.4 * proofs
        assert _search_s(20.0, 1.0, 0.4, proves_shares=proves_shares) == pytest.approx(0.35 * 20.0)
        budget_s = 2.0 * reserve_s
        assert _search_s(budget_s, 1.0, 0.4, proves_shares=proves_shares) == pytest.approx(reserve_s)
        assert _search_s(2000.0, 1.0, 0.4, proves_shares=proves_shares) == pytest.approx(0.75 * 2000.0)


def test_a_limit_of_runs_is_shared_too():
    shared = search_budget(Budget(runs=40), lambda: 2.0, StoppingRule())
    assert shared.remaining_runs == 20
    assert shared.remaining_s == float("inf")


@pytest.mark.parametrize("proves_shares", [False, True])
def test_the_reserve_of_runs_depends_on_whether_shares_are_proved(proves_shares: bool):
    shared = search_budget(Budget(runs=400), lambda: 2.0, StoppingRule(), proves_shares=proves_shares)
    assert shared.remaining_runs == 400 - (27 * (3 if proves_shares else 1))


@pytest.mark.parametrize("budget_s", [30.0, 200.0, 3600.0])
@pytest.mark.parametrize("run_s", [0.5, 3.0, 14.0])
def test_a_benchmark_takes_a_part_and_never_that_of_the_proof(budget_s: float, run_s: float):
    seconds = benchmark_s(Budget(budget_s, clock=lambda: 0.0), run_s, StoppingRule())
    assert 0 <= seconds <= 0.25 * budget_s
    if seconds:
        remaining = Budget(budget_s - seconds, clock=lambda: 0.0)
        assert not proof_shortfall(remaining, run_s, StoppingRule())


def test_a_benchmark_takes_a_part_of_the_job_it_is_made_in():
    assert benchmark_s(Budget(86400.0, clock=lambda: 0.0), 1.0, StoppingRule(), job_s=600.0) == pytest.approx(
        150.0
    )


def test_the_estimate_for_a_proof_of_a_fast_candidate_is_shorter():
    remaining = Budget(100.0, clock=lambda: 0.0)
    assert "12 runs of 14 s" in proof_shortfall(remaining, 14.0, StoppingRule())
    assert not proof_shortfall(remaining, 7.0, StoppingRule(), 2.0)
    assert "12 runs of 14 and of 2 s by turns" in proof_shortfall(remaining, 14.0, StoppingRule(), 2.0)


def test_where_no_proof_fits_the_search_gets_most_while_knobs_are_left_to_try():
    budget = Budget(30.0, clock=lambda: 0.0)
    for explores, share in ((True, 0.6), (False, 0.35)):
        allowance = search_budget(budget, lambda: 8.0, StoppingRule(), explores=lambda is_so=explores: is_so)
        assert allowance.remaining_s == pytest.approx(share * 30.0)
