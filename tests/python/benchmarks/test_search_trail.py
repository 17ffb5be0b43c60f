"""Number of runs until a search is right."""

from benchmarks._search_trail import knobs_run, right_after

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial

ORIGINAL = Configuration()
RIGHT = Configuration.of({"malloc": "keep-memory"})
OTHER = Configuration.of({"eager-node": "8KiB"})


def trial(
    configuration: Configuration,
    wall_s: float,
    phase: Phase = Phase.SEARCH,
    outcome: Outcome = Outcome.OK,
) -> Trial:
    return Trial(configuration, phase, outcome, wall_s, wall_s if outcome is Outcome.OK else None)


def after(*trials: Trial) -> int | None:
    return right_after(trials, lambda configuration: configuration == RIGHT)


def test_runs_of_the_original_count() -> None:
    assert after(trial(ORIGINAL, 2.0, Phase.OBSERVE), trial(ORIGINAL, 2.0), trial(RIGHT, 1.0)) == 3


def test_a_right_answer_that_was_slow_at_first_counts_from_when_its_median_is_best() -> None:
    slow_at_first = [trial(ORIGINAL, 2.0), trial(RIGHT, 3.0), trial(OTHER, 2.5)]
    assert after(*slow_at_first, trial(RIGHT, 1.0)) is None
    assert after(*slow_at_first, trial(RIGHT, 1.0), trial(RIGHT, 1.0)) == 5


def test_a_run_that_failed_makes_nothing_best() -> None:
    assert after(trial(ORIGINAL, 2.0), trial(RIGHT, 0.1, outcome=Outcome.FAILED)) is None


def test_the_proof_is_too_late() -> None:
    assert after(trial(ORIGINAL, 2.0), trial(RIGHT, 1.0, Phase.PROOF)) is None


def test_knobs_are_those_of_the_search_in_order() -> None:
    trials = [trial(OTHER, 1.0), trial(RIGHT, 1.0), trial(OTHER, 1.0)]
    proof = trial(Configuration.of({"binding": "core"}), 1.0, Phase.PROOF)
    assert knobs_run([*trials, proof]) == ("eager-node", "malloc")
