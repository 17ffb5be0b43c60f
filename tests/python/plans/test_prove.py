"""The proof of one answer on scripted programs: rounds, pairs, failures, interruptions."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import inf, isfinite

import pytest
from tests.support.noise import SimulatedProgram, stopped
from tests.support.scripted_lab import prove

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.evidence import Verdict
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.plans.prove import ORIGINAL
from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.objective import Budget

FAST = Configuration.of({"allocator": "jemalloc"})
THREE = Configuration.of({"allocator": "jemalloc", "binding": "core", "idle": "1"})
TWO = Configuration.of({"allocator": "jemalloc", "binding": "core"})
UNITS = (("allocator",), ("binding",), ("idle",))


class Script:
    """A `measure` that answers fixed times, and failures at chosen runs; remembers what it was asked."""

    def __init__(
        self, times: dict[Configuration, float], fail: Callable[[Trial, int], bool] | None = None
    ) -> None:
        self.times, self.fail = times, fail
        self.asked: list[Trial] = []
        self.limits: list[float | None] = []

    def __call__(self, run: Run) -> Trial:
        wall_s = self.times[run.configuration] * (1 + 0.001 * (len(self.asked) % 3))
        trial = Trial(
            run.configuration, Phase.PROOF, Outcome.OK, wall_s, wall_s, pair=run.pair, replicate=run.replicate
        )
        if self.fail and self.fail(trial, len(self.asked)):
            trial = replace(trial, outcome=Outcome.DIFFERENT, objective=None, reason="line 3 differs")
        elif run.stop_at is not None and wall_s > run.stop_at:
            trial = stopped(trial, run.stop_at)
        self.asked.append(trial)
        self.limits.append(run.stop_at)
        return trial


def program(**options: object) -> SimulatedProgram:
    """Return an answer of two settings that help and one without effect."""
    speedups = {"allocator": 1.5, "binding": 1.3}
    return SimulatedProgram("lognormal", 0.02, 1, speedups, **options)  # type: ignore[arg-type]


def test_a_clear_gain_is_called_faster_with_its_ratio() -> None:
    evidence = prove(Script({ORIGINAL: 2.0, FAST: 1.0}), FAST).evidence
    assert evidence.verdict is Verdict.FASTER
    assert evidence.ratio == pytest.approx(2.0, rel=0.01)
    assert len(evidence.pairs) == 9


def test_a_clear_gain_is_proved_by_one_block_in_random_order() -> None:
    script = Script({ORIGINAL: 2.0, FAST: 1.0})
    evidence = prove(script, FAST, is_clear=True).evidence
    assert evidence.verdict is Verdict.FASTER
    assert len(evidence.pairs) == 6
    assert {trial.pair for trial in script.asked} == {0}
    assert 1.9 < evidence.low <= evidence.ratio <= evidence.high < 2.1


def test_a_block_that_is_not_separated_goes_on_with_pairs() -> None:
    script = Script({ORIGINAL: 2.0, FAST: 1.0})

    def measure(run: Run) -> Trial:
        trial = script(run)
        is_slow = run.configuration == FAST and run.pair == 0 and run.replicate == 0
        return replace(trial, objective=2.5, wall_s=2.5) if is_slow else trial

    evidence = prove(measure, FAST, is_clear=True).evidence
    assert evidence.verdict is Verdict.FASTER
    assert len(evidence.pairs) > 12  # one of the pairs disagrees, and a part of the wealth is lost


def test_a_block_that_does_not_fit_into_the_budget_is_replaced_by_pairs() -> None:
    script = Script({ORIGINAL: 2.0, FAST: 1.0})
    evidence = prove(script, FAST, is_clear=True, budget=Budget(runs=7)).evidence
    assert evidence.verdict is Verdict.LIKELY
    assert len(evidence.pairs) == 3


def test_a_failure_of_the_original_in_a_block_leaves_the_pairs() -> None:
    def fails(trial: Trial, _: int) -> bool:
        return trial.configuration == ORIGINAL and (trial.pair, trial.replicate) == (0, 2)

    evidence = prove(Script({ORIGINAL: 2.0, FAST: 1.0}, fails), FAST, is_clear=True).evidence
    assert evidence.verdict is Verdict.FASTER
    assert len(evidence.pairs) == 10
    assert len(evidence.failures) == 1


def test_an_interrupted_block_goes_on_with_its_complete_pairs() -> None:
    uninterrupted = Script({ORIGINAL: 2.0, FAST: 1.0})
    prove(uninterrupted, FAST, is_clear=True)
    logged = uninterrupted.asked[:7]
    continuation = Script({ORIGINAL: 2.0, FAST: 1.0})
    evidence = prove(continuation, FAST, logged=logged, is_clear=True).evidence
    assert evidence.verdict is Verdict.FASTER
    assert len(evidence.pairs) == 6
    assert len(continuation.asked) < 12


def test_a_clear_loss_is_called_slower() -> None:
    assert prove(Script({ORIGINAL: 1.0, FAST: 2.0}), FAST).evidence.verdict is Verdict.SLOWER


def test_a_difference_that_cannot_matter_ends_the_proof_early() -> None:
    evidence = prove(Script({ORIGINAL: 1.0, FAST: 1.0}), FAST).evidence
    assert evidence.verdict is Verdict.NO_DIFFERENCE
    assert len(evidence.pairs) < 15


def test_the_order_within_a_pair_is_random_and_follows_from_the_seed() -> None:
    def orders(seed: int) -> list[Configuration]:
        script = Script({ORIGINAL: 2.0, FAST: 1.0})
        prove(script, FAST, seed=seed)
        return [trial.configuration for trial in script.asked[::2]]

    assert orders(1) == orders(1)
    assert len({tuple(orders(seed)) for seed in range(5)}) > 1
    assert {ORIGINAL, FAST} == set(orders(1))


def test_a_failed_original_costs_its_pair_and_is_reported() -> None:
    proof = prove(Script({ORIGINAL: 2.0, FAST: 1.0}, lambda trial, _: _is_original(trial, 4)), FAST)
    assert proof.evidence.verdict is Verdict.FASTER
    assert proof.evidence.failures == ("the original: line 3 differs",)


def _is_original(trial: Trial, pair: int) -> bool:
    return trial.configuration == ORIGINAL and trial.pair == pair


def test_an_original_that_keeps_failing_is_an_error() -> None:
    with pytest.raises(ProgramFailedError, match="failed 3 times"):
        prove(Script({ORIGINAL: 2.0, FAST: 1.0}, lambda trial, _: trial.configuration == ORIGINAL), FAST)


def test_a_proof_without_budget_says_how_many_pairs_are_needed() -> None:
    evidence = prove(Script({ORIGINAL: 2.0, FAST: 1.0}), FAST, budget=Budget(runs=6)).evidence
    assert evidence.verdict is Verdict.LIKELY
    assert evidence.stopped_because == "the budget ended after 3 pairs; at least 9 are needed"


def test_a_proof_goes_on_with_the_pairs_recorded_before() -> None:
    uninterrupted = Script({ORIGINAL: 2.0, FAST: 1.0})
    prove(uninterrupted, FAST)
    continuation = Script({ORIGINAL: 2.0, FAST: 1.0})
    evidence = prove(continuation, FAST, logged=uninterrupted.asked[:9]).evidence
    assert evidence.verdict is Verdict.FASTER
    assert len(evidence.pairs) == 9
    assert len(continuation.asked) == 10  # four pairs are complete; of the fifth the answer did not run yet


def test_an_objective_that_is_not_positive_is_refused() -> None:
    with pytest.raises(MpiricError, match="objective"):
        prove(Script({ORIGINAL: -2.0, FAST: -1.0}), FAST)


@pytest.mark.parametrize("confidence", [0.2, 1.0, 1.5])
def test_senseless_rules_are_refused(confidence: float) -> None:
    with pytest.raises(MpiricError):
        StoppingRule(confidence=confidence)


def test_a_candidate_is_rejected_by_one_wrong_answer() -> None:
    script = Script(
        {ORIGINAL: 2.0, FAST: 1.0}, lambda trial, _: trial.configuration == FAST and trial.pair == 7
    )
    proof = prove(script, FAST)
    assert proof.rejected == "line 3 differs"
    assert proof.evidence.verdict is Verdict.NO_DIFFERENCE
    assert len({trial.pair for trial in script.asked}) == 8


def test_a_candidate_rejected_before_the_interruption_stays_rejected() -> None:
    failed = Trial(FAST, Phase.PROOF, Outcome.FAILED, 1.0, exit_status=1, reason="exit status 1", pair=0)
    script = Script({ORIGINAL: 2.0, FAST: 1.0})
    assert prove(script, FAST, logged=[failed]).rejected == "exit status 1"
    assert all(trial.configuration == ORIGINAL for trial in script.asked)


def test_an_interruption_passes_through() -> None:
    def measure(run: Run) -> Trial:
        return Trial(run.configuration, Phase.PROOF, Outcome.INTERRUPTED, 0.1, pair=run.pair)

    with pytest.raises(KeyboardInterrupt):
        prove(measure, FAST)


def test_the_fewest_pairs_follow_from_the_confidence_and_the_number_of_claims() -> None:
    rule = StoppingRule()
    assert rule.fewest_pairs() == 9
    assert rule.fewest_pairs(rule.errors(3).main) == 10
    assert StoppingRule(confidence=0.95).fewest_pairs() == 7


@pytest.mark.parametrize("units", [1, 2, 5, 14])
def test_all_claims_together_have_the_requested_error(units: int) -> None:
    rule = StoppingRule(confidence=0.95)
    spent = rule.errors(units).main + units * rule.errors(units).unit
    if units > 1:
        spent += rule.errors(units, comeback=True).main + units * rule.errors(units, comeback=True).unit
    assert spent == pytest.approx(0.05)


def test_a_round_holds_original_answer_and_one_run_without_each_unit() -> None:
    measured = program()
    prove(measured, THREE, UNITS)
    first = [trial for trial in measured.made if trial.pair == 0]
    assert Counter(trial.configuration for trial in first) == {
        ORIGINAL: 3,
        THREE: 3,
        **{THREE.with_value(knob, None): 1 for (knob,) in UNITS},
    }
    assert len({(trial.configuration, trial.replicate) for trial in first}) == 9


def test_runs_without_a_unit_are_a_third_at_most() -> None:
    for seed in range(20):
        measured = program()
        prove(measured, THREE, UNITS, seed=seed)
        without = sum(trial.replicate < 0 for trial in measured.made)
        assert without * 3 <= len(measured.made)


def test_contributing_settings_are_shown_with_their_share() -> None:
    evidence = prove(program(), TWO, UNITS[:2]).evidence
    shares = {share.knobs: share for share in evidence.shares}
    assert evidence.verdict is Verdict.FASTER
    for unit, worth in ((UNITS[0], 1.5), (UNITS[1], 1.3)):
        assert shares[unit].shown
        assert shares[unit].ratio == pytest.approx(worth, rel=0.03)
        assert 1.01 < shares[unit].low <= worth <= shares[unit].high


def test_a_proof_ends_with_the_main_claim_when_something_is_to_be_dropped_then() -> None:
    measured = program()
    evidence = prove(measured, THREE, UNITS).evidence
    share = evidence.share_of("idle")
    assert share is not None
    assert (share.shown, share.why) == (False, f"nothing shown by {share.runs} runs without it")
    assert {trial.configuration for trial in measured.made if trial.pair == measured.made[-1].pair} >= {
        ORIGINAL
    }
    assert {other.why for other in evidence.shares if other is not share} == {""}


def test_the_originals_end_with_the_main_claim() -> None:
    measured = program()
    evidence = prove(measured, TWO, UNITS[:2]).evidence
    last = max(trial.pair for trial in measured.made if trial.configuration == ORIGINAL)
    assert len(evidence.pairs) == 3 * (last + 1)
    later = [trial for trial in measured.made if trial.pair > last]
    assert later
    assert all(trial.configuration != ORIGINAL for trial in later)


def test_a_unit_without_which_nothing_runs_is_needed() -> None:
    without = THREE.with_value("idle", None)
    script = program()

    def measure(run: Run) -> Trial:
        trial = script(run)
        if run.configuration == without:
            trial = replace(trial, outcome=Outcome.FAILED, objective=None, reason="exit status 1")
        return trial

    proof = prove(measure, THREE, UNITS)
    share = proof.evidence.share_of("idle")
    assert share is not None
    assert (share.is_needed, share.shown, share.why) == (True, False, "without it: exit status 1")
    assert not proof.rejected


def test_shares_are_not_measured_in_an_answer_that_is_not_faster() -> None:
    measured = SimulatedProgram("lognormal", 0.02, 1)
    evidence = prove(measured, THREE, UNITS).evidence
    assert evidence.verdict is Verdict.NO_DIFFERENCE
    assert evidence.shares == ()


def test_a_proof_in_rounds_goes_on_where_it_was_cut_short() -> None:
    uninterrupted = program()
    prove(uninterrupted, THREE, UNITS)
    recorded = uninterrupted.made[:14]  # a round and a half
    continuation = program()
    evidence = prove(continuation, THREE, UNITS, logged=recorded).evidence
    second_round = [trial for trial in recorded if trial.pair == 1 and trial.replicate >= 0]
    halves = Counter(trial.replicate for trial in second_round)
    complete = 3 + sum(count == 2 for count in halves.values())
    first = [trial for trial in continuation.made if trial.configuration == ORIGINAL]
    assert len(evidence.pairs) == complete + len(first)
    assert min(trial.pair for trial in continuation.made) == 1
    assert evidence.verdict is Verdict.FASTER


def test_where_a_round_with_everything_does_not_fit_pairs_go_on() -> None:
    evidence = prove(program(), TWO, UNITS[:2], budget=Budget(runs=24 + 5)).evidence
    assert len(evidence.pairs) == 10
    assert evidence.verdict is Verdict.FASTER
    assert {share.why for share in evidence.shares} == {
        "the budget ended: likely, but not shown by 2 runs without it"
    }


def test_nothing_is_left_for_a_smaller_answer_where_none_would_follow() -> None:
    evidence = prove(program(), TWO, UNITS[:2], budget=Budget(runs=4 * 8 + 3 * 6)).evidence
    assert len(evidence.pairs) == 12
    assert all(share.shown for share in evidence.shares)


def test_the_second_run_of_a_pair_is_stopped_at_twice_the_first() -> None:
    script = Script({ORIGINAL: 10.0, FAST: 1.0})
    evidence = prove(script, FAST, stops=True).evidence
    second = {trial.pair: limit for trial, limit in zip(script.asked, script.limits, strict=True) if limit}
    first = {trial.pair: trial for trial in reversed(script.asked)}
    assert set(second) == set(first)
    assert all(limit == pytest.approx(2 * first[pair].wall_s) for pair, limit in second.items())
    originals_second = [trial for trial in script.asked if trial.at_least is not None]
    assert {trial.configuration for trial in originals_second} == {ORIGINAL}
    assert evidence.stopped == tuple(sorted(trial.pair for trial in originals_second))
    assert evidence.stopped
    assert evidence.ratio == pytest.approx(10, rel=0.01)
    assert all(value >= 10 for value in evidence.ended[0])
    assert len(evidence.ended[0]) == len(evidence.pairs) - len(evidence.stopped)
    assert len(evidence.ended[1]) == len(evidence.pairs)
    assert evidence.verdict is Verdict.FASTER
    assert evidence.high == inf
    assert 1.01 < evidence.low < 10


def test_a_pair_whose_answer_was_stopped_is_lost_not_rejected() -> None:
    proof = prove(Script({ORIGINAL: 1.0, FAST: 5.0}), FAST, stops=True)
    assert not proof.rejected
    assert proof.evidence.verdict is Verdict.SLOWER
    assert (proof.evidence.low, isfinite(proof.evidence.high)) == (0.0, True)


def test_a_run_that_nothing_stops_has_no_limit_of_its_own() -> None:
    script = Script({ORIGINAL: 10.0, FAST: 1.0})
    prove(script, FAST)
    assert set(script.limits) == {None}


def test_the_interval_is_the_one_that_the_verdict_rests_on() -> None:
    for seed in range(30):
        evidence = prove(SimulatedProgram("lognormal", 0.1, seed, {"allocator": 1.08}), FAST).evidence
        assert (evidence.verdict is Verdict.FASTER) == (evidence.low > 1.01)
        assert evidence.low <= evidence.ci95[0] <= evidence.ci95[1] <= evidence.high


def test_a_run_without_a_setting_is_given_no_more_than_tells_that_it_is_slow() -> None:
    script = Script({ORIGINAL: 1.0, TWO: 0.5, FAST: 0.6, Configuration.of({"binding": "core"}): 7.0})
    proof = prove(script, TWO, UNITS[:2], stops=True, slowest=1.0)
    without = [
        limit for trial, limit in zip(script.asked, script.limits, strict=True) if trial.replicate == -1
    ]
    assert without
    assert all(limit is not None and limit <= 2.1 for limit in without)
    shares = {share.knobs: share for share in proof.evidence.shares}
    assert shares["allocator",].shown  # slow runs without the setting are evidence


@pytest.mark.parametrize(
    ("answer_s", "verdict"), [(0.5, Verdict.LIKELY), (1.0, Verdict.UNDECIDED), (2.0, Verdict.UNDECIDED)]
)
def test_an_open_proof_is_not_called_no_difference(answer_s, verdict) -> None:
    evidence = prove(Script({ORIGINAL: 1.0, FAST: answer_s}), FAST, budget=Budget(runs=8)).evidence
    assert evidence.verdict is verdict
    assert len(evidence.pairs) == 4
    if answer_s != 1.0:
        assert evidence.missing_pairs == 5
