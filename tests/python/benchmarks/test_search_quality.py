"""Numbers of the simulation of searches."""

from argparse import Namespace
from random import Random

from benchmarks.search_quality import (
    Answer,
    Answers,
    answers_of,
    loss_without,
    missed,
    row_of,
    rows_of,
    summary_of,
    without_superfluous,
)
from tests.support.landscapes import Landscape, landscape

from mpiric.model.configuration import Configuration
from mpiric.statistics.space import Dimension, SearchSpace

FAST = Configuration.of({"a": "v1"})
BOTH = Configuration.of({"a": "v1", "b": "v1"})


def example_landscape() -> Landscape:
    """The knob a gains, b does nothing, both together crash for one value of b."""
    space = SearchSpace((Dimension("a", ("v1",)), Dimension("b", ("v1", "v2"))))
    truth = {
        Configuration(): 0.0,
        FAST: -0.3,
        Configuration.of({"b": "v1"}): 0.0,
        Configuration.of({"b": "v2"}): 0.0,
        BOTH: -0.3,
        Configuration.of({"a": "v1", "b": "v2"}): None,
    }
    return Landscape(space, truth, 0.0, Random(0))


def test_a_setting_that_does_nothing_costs_nothing_to_leave_out() -> None:
    assert loss_without(example_landscape(), BOTH, "b") == 0.0
    assert loss_without(example_landscape(), BOTH, "a") > 0.3


def test_missed_knobs_would_gain_and_do_not_crash() -> None:
    assert missed(example_landscape(), Configuration()) == 1
    assert missed(example_landscape(), FAST) == 0


def answers(seed: int, noise: float, proof_runs: int) -> Answers:
    arguments = Namespace(runs=20, proof_runs=proof_runs, short_runs=60, effort="normal")
    return answers_of(lambda: landscape(seed, noise=noise), seed, arguments)


def test_the_same_seed_gives_the_same_answers() -> None:
    first, second = (answers(7, 0.03, 60) for _ in range(2))
    assert first == second
    best, searched, proved, short = first
    assert best.runs == 0
    assert searched.runs <= 20 < proved.runs <= 80
    assert short.runs <= 60


def test_the_proof_adds_no_setting() -> None:
    results = [answers(seed, 0.02, 200) for seed in range(3)]
    assert all(proved.settings <= searched.settings for _, searched, proved, _ in results)
    assert any(proved.settings for _, _, proved, _ in results)


def test_of_the_best_answer_nothing_is_superfluous() -> None:
    assert without_superfluous(example_landscape()) == FAST


def test_runs_until_right_are_of_those_that_were() -> None:
    right = Answer(loss=0.0, settings=2, superfluous=1, missed=0, right_after=9, runs=25)
    never = Answer(loss=0.2, settings=1, superfluous=0, missed=1, right_after=None, runs=25)
    row = row_of("some", "search", [right, never])
    assert (row["within"], row["right_after"], row["never_right"], row["superfluous"]) == (0.5, 9, 1, 0.5)


def test_the_summary_has_a_sentence_for_search_and_proof() -> None:
    loose = Answer(loss=0.0, settings=4, superfluous=2, missed=0, right_after=9, runs=25)
    slim = Answer(loss=0.0, settings=2, superfluous=0, missed=0, right_after=9, runs=60)
    summary = summary_of(rows_of("all", [(slim, loose, slim, loose)]))
    assert "Search: 100% within 2 % of the best, mean loss 0.0%, 2 of 4 settings superfluous" in summary
    assert "Proof: 100% within 2 % of the best, mean loss 0.0%, 0 of 2 settings superfluous" in summary
