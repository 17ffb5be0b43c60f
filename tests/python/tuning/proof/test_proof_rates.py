"""Error rates and power of the proof on programs whose noise is made up; seeds are fixed."""

from statistics import median

import pytest
from tests.support.noise import NOISES, program

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Verdict
from mpiric.tuning.proof.proof import StoppingRule, prove

TUNED = Configuration.of({"binding": "core"})


def _prove(
    noise: str, spread: float, seed: int, speedup: float, rule: StoppingRule | None = None
) -> Evidence:
    measure = program(noise, spread, seed, {TUNED: speedup})
    return prove(measure, [TUNED], rule, seed=seed).evidence[0]


def _false_verdicts(noise: str, proofs: int, rule: StoppingRule | None = None) -> int:
    spreads = (0.01, 0.1)
    verdicts = [_prove(noise, spreads[seed % 2], seed, 1.0, rule).verdict for seed in range(proofs)]
    return sum(verdict is not Verdict.NO_DIFFERENCE for verdict in verdicts)


@pytest.mark.parametrize("noise", NOISES)
def test_identical_configurations_show_no_difference(noise: str) -> None:
    assert _false_verdicts(noise, 2000) <= 20


@pytest.mark.sweep
@pytest.mark.parametrize("noise", NOISES)
def test_identical_configurations_show_no_difference_without_a_minimum_effect(noise: str) -> None:
    rule = StoppingRule(minimum_effect=0.0, max_pairs=300)
    assert _false_verdicts(noise, 3000, rule) <= 30


def test_two_candidates_share_the_error() -> None:
    other = Configuration.of({"binding": "socket"})
    false = 0
    for seed in range(1000):
        proof = prove(program("lognormal", 0.1, seed), [TUNED, other], seed=seed)
        false += any(evidence.verdict is not Verdict.NO_DIFFERENCE for evidence in proof.evidence)
    assert false <= 10


@pytest.mark.parametrize(
    ("speedup", "spread", "share", "pairs"),
    [(1.02, 0.003, 0.99, 10), (1.02, 0.01, 0.8, 50), (1.05, 0.01, 1.0, 9), (1.05, 0.03, 0.8, 35),
     (1.3, 0.01, 1.0, 9), (1.3, 0.1, 1.0, 10)],
)  # fmt: skip
def test_real_gains_are_found(speedup: float, spread: float, share: float, pairs: int) -> None:
    found = [_prove("lognormal", spread, seed, speedup) for seed in range(200)]
    assert sum(evidence.verdict is Verdict.FASTER for evidence in found) >= share * 200
    assert median(len(evidence.pairs) for evidence in found) <= pairs


def test_a_gain_below_the_minimum_effect_is_not_called() -> None:
    found = [_prove("lognormal", 0.003, seed, 1.005) for seed in range(300)]
    assert sum(evidence.verdict is not Verdict.NO_DIFFERENCE for evidence in found) <= 3


@pytest.mark.parametrize("noise", ["lognormal", "heavy-tailed"])
def test_the_interval_printed_holds_the_true_ratio(noise: str) -> None:
    held = 0
    for seed in range(400):
        evidence = _prove(noise, 0.05, seed, 1.1)
        held += evidence.low <= 1.1 <= evidence.high
    assert held >= 380
