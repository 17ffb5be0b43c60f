"""A tune whose budget ends before its proof shows what is likely; a resumed one goes on with the proof."""

from pathlib import Path

import pytest
from tests.support.recorded_tune import RecordedTune
from tests.support.scripted_runner import Behaviour

from mpiric.model.evidence import Verdict
from mpiric.model.run import Phase
from mpiric.tuning.store import Store


@pytest.fixture
def tune(tmp_path: Path) -> RecordedTune:
    tune = RecordedTune(tmp_path)
    tune.runner.settings = {"binding": Behaviour(0.5)}
    return tune


def test_a_gain_that_is_pairs_short_of_a_proof_is_likely_and_is_proved_when_the_tune_goes_on(tune):
    first = tune(budget_s=140.0)
    assert first.verdict is Verdict.LIKELY
    assert first.evidence.configuration.as_dict()["binding"] == "core"
    assert first.changes == ()
    best = first.best_so_far
    assert best.pairs == best.wins == len(first.evidence.pairs) > 0
    assert best.missing_pairs == 9 - best.pairs
    assert best.missing_s == pytest.approx(best.missing_pairs * 15.0, rel=0.2)
    assert best.launch.argv != tune.command
    (summary,) = Store(tune.place / "store").tunes()
    assert summary.finished
    assert summary.undecided
    searched = [trial for trial in tune.trials if trial.phase is Phase.SEARCH]
    second = tune(budget_s=190.0, resume=True)
    assert second.verdict is Verdict.FASTER
    assert [trial for trial in tune.trials if trial.phase is Phase.SEARCH] == searched
    assert len(second.evidence.pairs) >= 6
    assert second.best_so_far is None


def test_without_a_candidate_the_remaining_budget_tries_further_knobs(tune):
    tune.runner.settings = {}
    tuned = tune(budget_s=120.0)
    assert tuned.verdict is Verdict.NO_CANDIDATE
    assert set(tuned.tried) == {"binding", "malloc", "huge-pages"}
    assert tuned.not_reached == ()


def test_a_gain_found_with_the_rest_of_the_budget_is_shown(tune):
    tune.runner.settings = {"malloc": Behaviour(0.5), "binding": Behaviour(1.3)}
    tuned = tune(budget_s=110.0)
    assert tuned.best_so_far.configuration.as_dict()["malloc"]
    assert tuned.verdict.is_open


def test_a_tune_that_has_no_time_for_any_candidate_says_that_it_tried_nothing(tune):
    tuned = tune(budget_s=35.0)
    assert tuned.tried == ()
    assert set(tuned.not_reached) == {"binding", "malloc", "huge-pages"}
    assert "a run takes 10" in tuned.nothing_tried
    assert "--budget" in tuned.nothing_tried
    assert tuned.verdict is Verdict.NO_CANDIDATE


def test_identical_files_of_all_originals_are_stored_once(tune):
    tune.runner.original = Behaviour(stdout="done\n", files={"checkpoint": "1.25 2.5\n" * 100})
    tune(budget_s=60.0)
    copies = list((tune.place / "store").glob("*/outputs/*.files/checkpoint"))
    assert len(copies) > 1
    assert len({path.stat().st_ino for path in copies}) == 1
