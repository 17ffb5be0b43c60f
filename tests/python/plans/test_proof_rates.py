"""Error rates and power of the proof on programs whose noise is made up; seeds are fixed."""

from statistics import median

import pytest
from tests.support.noise import NOISES, SimulatedProgram
from tests.support.scripted_lab import prove

from mpiric.lab.lab import LoggedTrials, drive
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.run import Run, Trial
from mpiric.plans.prove import Proof
from mpiric.plans.smallest import SmallestAnswer
from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.objective import Budget

pytestmark = pytest.mark.slow

TUNED = Configuration.of({"binding": "core"})
THREE = Configuration.of({"binding": "core", "malloc": "keep-memory", "eager-node": "on"})


def _prove(
    noise: str, spread: float, seed: int, speedup: float, rule: StoppingRule | None = None
) -> Evidence:
    return prove(
        SimulatedProgram(noise, spread, seed, {"binding": speedup}), TUNED, rule=rule, seed=seed
    ).evidence


def _false_verdicts(noise: str, proofs: int, rule: StoppingRule | None = None) -> int:
    spreads = (0.01, 0.1)
    verdicts = [_prove(noise, spreads[seed % 2], seed, 1.0, rule).verdict for seed in range(proofs)]
    return sum(verdict.is_claim for verdict in verdicts)


def smallest(measure: SimulatedProgram, answer: Configuration, seed: int, *, stops: bool = False) -> Proof:
    """The whole sequence of proofs of an answer, each of whose settings is a unit of its own."""
    plan = SmallestAnswer(
        answer,
        lambda configuration: tuple((knob,) for knob, _ in configuration.items),
        StoppingRule(),
        Budget(),
        round_of=LoggedTrials().round_of,
        say=lambda _: None,
        seed=seed,
        stops=stops,
    )
    return drive(plan.prove(), measure)


@pytest.mark.parametrize("noise", NOISES)
def test_identical_configurations_show_no_difference(noise: str) -> None:
    assert _false_verdicts(noise, 1000) <= 10


@pytest.mark.parametrize("noise", NOISES)
def test_identical_configurations_are_not_separated_in_a_block(noise: str) -> None:
    programs = (SimulatedProgram(noise, (0.01, 0.1)[seed % 2], seed) for seed in range(1000))
    proofs = [prove(program, TUNED, seed=seed, is_clear=True) for seed, program in enumerate(programs)]
    assert sum(proof.evidence.verdict.is_claim for proof in proofs) <= 10


def test_configurations_of_equal_medians_and_different_scatter_are_not_called_faster() -> None:
    wrong = 0
    for seed in range(1000):
        program = SimulatedProgram("lognormal", 0.1, seed)

        def measure(run: Run, program: SimulatedProgram = program) -> Trial:
            program.spread = 0.001 if run.configuration == TUNED else 0.1
            return program(run)

        wrong += prove(measure, TUNED, seed=seed, is_clear=True).evidence.verdict.is_claim
    assert wrong <= 10


@pytest.mark.parametrize("noise", NOISES)
def test_settings_that_do_nothing_are_not_said_to_contribute(noise: str) -> None:
    wrong = 0
    for seed in range(100):
        program = SimulatedProgram(noise, (0.01, 0.1)[seed % 2], seed, {"binding": 2.0})
        evidence = smallest(program, THREE, seed).evidence
        claimed = [share for share in evidence.shares if share.shown and "binding" not in share.knobs]
        wrong += bool(claimed)
    assert wrong <= 1


@pytest.mark.parametrize("noise", NOISES)
def test_nothing_is_claimed_of_an_answer_that_is_not_faster(noise: str) -> None:
    proofs = [smallest(SimulatedProgram(noise, 0.05, seed), THREE, seed) for seed in range(100)]
    assert sum(proof.evidence.verdict.is_claim for proof in proofs) <= 1


@pytest.mark.parametrize("noise", NOISES)
def test_stopping_the_second_run_of_a_pair_makes_no_false_verdicts(noise: str) -> None:
    """Stopped far earlier than at twice the first, so that most pairs have a stopped run."""
    wrong = 0
    for seed in range(300):
        program = SimulatedProgram(noise, 0.1, seed, stop=0.55)
        evidence = prove(program, TUNED, seed=seed, stops=True).evidence
        wrong += evidence.verdict.is_claim
    assert wrong <= 3


@pytest.mark.sweep
@pytest.mark.parametrize("noise", NOISES)
def test_identical_configurations_show_no_difference_without_a_minimum_effect(noise: str) -> None:
    rule = StoppingRule(minimum_effect=0.0, max_pairs=300)
    assert _false_verdicts(noise, 3000, rule) <= 30


@pytest.mark.parametrize(
    ("speedup", "spread", "share", "pairs"),
    [(1.02, 0.003, 0.99, 10), (1.02, 0.01, 0.8, 50), (1.05, 0.01, 1.0, 9), (1.05, 0.03, 0.8, 35),
     (1.3, 0.01, 1.0, 9), (1.3, 0.1, 1.0, 10)],
)  # fmt: skip
def test_real_gains_are_found(speedup: float, spread: float, share: float, pairs: int) -> None:
    proofs = [_prove("lognormal", spread, seed, speedup) for seed in range(200)]
    assert sum(evidence.verdict is Verdict.FASTER for evidence in proofs) >= share * 200
    assert median(len(evidence.pairs) for evidence in proofs) <= pairs


def test_a_gain_below_the_minimum_effect_is_not_called() -> None:
    proofs = [_prove("lognormal", 0.003, seed, 1.005) for seed in range(300)]
    assert sum(evidence.verdict.is_claim for evidence in proofs) <= 3


@pytest.mark.parametrize("noise", ["lognormal", "heavy-tailed"])
def test_the_intervals_hold_the_true_ratio(noise: str) -> None:
    inside, ci95 = 0, 0
    for seed in range(400):
        evidence = _prove(noise, 0.05, seed, 1.1)
        inside += evidence.low <= 1.1 <= evidence.high
        ci95 += evidence.ci95[0] <= 1.1 <= evidence.ci95[1]
    assert inside >= 396
    assert ci95 >= 380


@pytest.mark.parametrize(
    ("share", "spread", "expected_share"), [(1.5, 0.03, 0.99), (1.1, 0.02, 0.97), (1.05, 0.02, 0.8)]
)
def test_a_setting_that_contributes_is_kept(share: float, spread: float, expected_share: float) -> None:
    speedups = {"binding": 1.5, "malloc": share}
    proofs = [
        smallest(SimulatedProgram("lognormal", spread, seed, speedups), THREE, seed) for seed in range(100)
    ]
    answers = [proof.evidence.configuration.as_dict() for proof in proofs]
    assert sum("malloc" in answer for answer in answers) >= expected_share * 100
    assert sum("eager-node" in answer for answer in answers) <= 5
