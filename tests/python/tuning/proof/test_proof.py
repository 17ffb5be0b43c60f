from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.support.noise import program

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.evidence import Verdict
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.budget import Budget
from mpiric.tuning.proof.proof import ORIGINAL, StoppingRule, prove

FAST = Configuration.of({"allocator": "jemalloc"})
OTHER = Configuration.of({"binding": "core"})


class Script:
    """A `measure` that answers fixed times, and failures at chosen calls; remembers what it was asked."""

    def __init__(
        self, times: dict[Configuration, float], fail: Callable[[Trial, int], bool] | None = None
    ) -> None:
        self.times, self.fail = times, fail
        self.asked: list[Trial] = []

    def __call__(self, configuration: Configuration, pair: int) -> Trial:
        wall_s = self.times[configuration] * (1 + 0.001 * (len(self.asked) % 3))
        trial = Trial(configuration, Phase.PROOF, Outcome.OK, wall_s, wall_s, pair=pair)
        if self.fail and self.fail(trial, len(self.asked)):
            trial = replace(trial, outcome=Outcome.DIFFERENT, objective=None, reason="line 3 differs")
        self.asked.append(trial)
        return trial


def test_a_clear_gain_is_called_faster_with_its_ratio() -> None:
    evidence = prove(Script({ORIGINAL: 2.0, FAST: 1.0}), [FAST]).evidence[0]
    assert evidence.verdict is Verdict.FASTER
    assert evidence.ratio == pytest.approx(2.0, rel=0.01)
    assert len(evidence.pairs) == 9


def test_a_clear_loss_is_called_slower() -> None:
    assert prove(Script({ORIGINAL: 1.0, FAST: 2.0}), [FAST]).evidence[0].verdict is Verdict.SLOWER


def test_a_difference_that_cannot_matter_ends_the_proof_early() -> None:
    evidence = prove(Script({ORIGINAL: 1.0, FAST: 1.0}), [FAST]).evidence[0]
    assert evidence.verdict is Verdict.NO_DIFFERENCE
    assert len(evidence.pairs) < 15


def test_every_round_runs_the_original_and_each_candidate_once() -> None:
    script = Script({ORIGINAL: 2.0, FAST: 1.0, OTHER: 1.5})
    prove(script, [FAST, OTHER])
    rounds = {trial.pair for trial in script.asked}
    for number in rounds:
        assert sorted(t.configuration for t in script.asked if t.pair == number) == [ORIGINAL, FAST, OTHER]


def test_the_order_within_a_pair_is_random_and_follows_from_the_seed() -> None:
    def orders(seed: int) -> list[Configuration]:
        script = Script({ORIGINAL: 2.0, FAST: 1.0})
        prove(script, [FAST], seed=seed)
        return [trial.configuration for trial in script.asked[::2]]

    assert orders(1) == orders(1)
    assert len({tuple(orders(seed)) for seed in range(5)}) > 1
    assert {ORIGINAL, FAST} == set(orders(1))


def test_a_candidate_is_rejected_by_one_wrong_answer() -> None:
    script = Script(
        {ORIGINAL: 2.0, FAST: 1.0}, lambda trial, _: trial.configuration == FAST and trial.pair == 7
    )
    proof = prove(script, [FAST])
    assert proof.rejected == ((FAST, "line 3 differs"),)
    assert proof.evidence[0].verdict is Verdict.NO_DIFFERENCE
    assert len({trial.pair for trial in script.asked}) == 8


def test_other_candidates_go_on_when_one_is_rejected() -> None:
    script = Script({ORIGINAL: 2.0, FAST: 1.0, OTHER: 1.5}, lambda trial, _: trial.configuration == FAST)
    proof = prove(script, [FAST, OTHER])
    assert [evidence.verdict for evidence in proof.evidence] == [Verdict.NO_DIFFERENCE, Verdict.FASTER]


def test_a_failed_original_costs_its_pair_and_is_told() -> None:
    proof = prove(Script({ORIGINAL: 2.0, FAST: 1.0}, lambda trial, _: _is_original(trial, 4)), [FAST])
    assert proof.evidence[0].verdict is Verdict.FASTER
    assert proof.evidence[0].failures == ("the original: line 3 differs",)


def _is_original(trial: Trial, pair: int) -> bool:
    return trial.configuration == ORIGINAL and trial.pair == pair


def test_an_original_that_keeps_failing_is_an_error() -> None:
    with pytest.raises(ProgramFailedError, match="failed 3 times"):
        prove(Script({ORIGINAL: 2.0, FAST: 1.0}, lambda trial, _: trial.configuration == ORIGINAL), [FAST])


def test_a_proof_without_budget_says_how_many_pairs_are_needed() -> None:
    evidence = prove(Script({ORIGINAL: 2.0, FAST: 1.0}), [FAST], budget=Budget(runs=6)).evidence[0]
    assert evidence.verdict is Verdict.NO_DIFFERENCE
    assert evidence.stopped_because == "the budget ended after 3 pairs; at least 9 are needed"


def test_a_proof_goes_on_with_the_pairs_recorded_before() -> None:
    whole = Script({ORIGINAL: 2.0, FAST: 1.0})
    prove(whole, [FAST])
    rest = Script({ORIGINAL: 2.0, FAST: 1.0})
    evidence = prove(rest, [FAST], recorded=whole.asked[:9]).evidence[0]
    assert evidence.verdict is Verdict.FASTER
    assert len(rest.asked) == 10  # four complete pairs are there, the half of the fifth is left out
    assert min(trial.pair for trial in rest.asked) == 5


def test_a_candidate_rejected_before_the_interruption_stays_rejected() -> None:
    failed = Trial(FAST, Phase.PROOF, Outcome.FAILED, 1.0, exit_status=1, reason="exit status 1", pair=0)
    script = Script({ORIGINAL: 2.0, FAST: 1.0})
    assert prove(script, [FAST], recorded=[failed]).rejected == ((FAST, "exit status 1"),)
    assert not script.asked


def test_an_interruption_passes_through() -> None:
    def measure(configuration: Configuration, pair: int) -> Trial:
        return Trial(configuration, Phase.PROOF, Outcome.INTERRUPTED, 0.1, pair=pair)

    with pytest.raises(KeyboardInterrupt):
        prove(measure, [FAST])


def test_the_original_can_be_compared_with_itself() -> None:
    evidence = prove(program("lognormal", 0.05, 1), [ORIGINAL]).evidence[0]
    assert evidence.verdict is Verdict.NO_DIFFERENCE


def test_an_objective_that_is_not_positive_is_refused() -> None:
    with pytest.raises(MpiricError, match="objective"):
        prove(Script({ORIGINAL: -2.0, FAST: -1.0}), [FAST])


def test_the_fewest_pairs_follow_from_confidence_and_candidates() -> None:
    assert StoppingRule().fewest_pairs() == 9
    assert StoppingRule().fewest_pairs(2) == 10
    assert StoppingRule(confidence=0.95).fewest_pairs() == 7


@pytest.mark.parametrize("confidence", [0.2, 1.0, 1.5])
def test_senseless_rules_are_refused(confidence: float) -> None:
    with pytest.raises(MpiricError):
        StoppingRule(confidence=confidence)
