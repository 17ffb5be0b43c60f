"""The whole of `mpiric tune` on a recorded machine: the script says what each configuration does."""

from collections import Counter
from pathlib import Path

import pytest
from tests.support.recorded_tune import RecordedTune
from tests.support.scripted_runner import FAILS, INTERRUPTED, Behaviour

from mpiric.model.configuration import Configuration
from mpiric.model.errors import ProgramFailedError
from mpiric.model.evidence import Verdict
from mpiric.model.run import Outcome, Phase
from mpiric.tuning.events import read_log
from mpiric.tuning.recipe import read_recipe

BOUND = Configuration.of({"binding": "core"})
OTHER_OUTPUT = Behaviour(0.5, stdout="energy -13.5000\n")


@pytest.fixture
def tune(tmp_path: Path) -> RecordedTune:
    return RecordedTune(tmp_path)


@pytest.fixture
def undisturbed(tmp_path: Path) -> RecordedTune:
    """A tune like the other, to compare with."""
    place = tmp_path / "undisturbed"
    place.mkdir()
    return RecordedTune(place)


def completed_runs(tune, phase):
    """Return how often each configuration ran to its end in a phase, for each pair or run of a proof."""
    done = (trial for trial in tune.trials if trial.phase is phase and trial.outcome is Outcome.OK)
    return Counter((trial.configuration, trial.pair, trial.replicate) for trial in done)


def rejections(tuned):
    return {str(rejection.configuration): rejection.reason for rejection in tuned.rejected}


def outcomes(tune, setting):
    return [trial.outcome for trial in tune.trials if setting in trial.configuration.items]


def test_a_faster_configuration_wins_and_is_proved_by_fresh_pairs(tune):
    tune.runner.settings = {"binding": Behaviour(0.8)}
    tuned = tune(max_runs=60)
    assert tuned.verdict is Verdict.FASTER
    assert tuned.evidence.configuration == BOUND
    assert tuned.evidence.ratio == pytest.approx(1.25, rel=0.01)
    assert [change.knob for change in tuned.changes] == ["binding"]
    proof = [trial for trial in tune.trials if trial.phase is Phase.PROOF]
    assert len(proof) == 2 * len(tuned.evidence.pairs) == 12


def test_the_recipe_contains_the_proved_result(tune):
    tune.runner.settings = {"binding": Behaviour(0.8)}
    tuned = tune(max_runs=60)
    recipe = read_recipe(Path(tuned.recipe), lambda *_: "")
    assert recipe.configuration == BOUND
    assert recipe.evidence.pairs == tuned.evidence.pairs
    assert recipe.checked_output == "learned"


def test_settings_that_help_together_are_found_together(tune):
    tune.runner.settings = {"binding": Behaviour(0.8), "huge-pages": Behaviour(0.9)}
    tuned = tune(max_runs=80)
    assert tuned.evidence.configuration == Configuration.of({"binding": "core", "huge-pages": "transparent"})


def test_without_a_gain_nothing_is_proved_and_no_recipe_is_written(tune):
    tuned = tune(max_runs=60)
    assert tuned.verdict is Verdict.NO_CANDIDATE
    assert tuned.changes == ()
    assert tuned.recipe == ""


def test_a_configuration_that_fails_is_rejected_with_its_reason(tune):
    tune.runner.settings = {"binding": FAILS}
    tuned = tune(max_runs=60)
    assert rejections(tuned)[str(BOUND)] == "ended by signal 11"
    assert set(outcomes(tune, ("binding", "core"))) == {Outcome.FAILED}  # repeated before it counts


def test_different_output_is_rejected_after_the_original_was_run_again(tune):
    tune.runner.settings = {"binding": OTHER_OUTPUT}
    tuned = tune(max_runs=60)
    assert "-13.5000" in rejections(tuned)[str(BOUND)]
    different = next(trial for trial in tune.trials if trial.outcome is Outcome.DIFFERENT)
    again = next(trial for trial in tune.trials if trial.number == different.number + 1)
    assert (again.configuration, again.phase) == (Configuration(), Phase.OBSERVE)


def test_output_that_the_original_prints_as_well_counts_for_the_configuration(tune):
    tune.runner.settings = {"binding": OTHER_OUTPUT}
    tune.runner.nth = {5: Behaviour(stdout="energy -13.5000\n")}  # the original, run again
    tuned = tune(max_runs=60)
    assert tuned.verdict is Verdict.FASTER
    assert set(outcomes(tune, ("binding", "core"))) == {Outcome.OK}  # the rejection is withdrawn


def test_other_files_than_the_originals_are_rejected(tune):
    tune.runner.original = Behaviour(stdout="done\n", files={"result.dat": "1.25 2.5\n"})
    tune.runner.settings = {"binding": Behaviour(0.5, files={"result.dat": "1.25 7.5\n"})}
    assert "result.dat" in rejections(tune(max_runs=60))[str(BOUND)]


def test_output_is_not_compared_with_no_check(tune):
    tune.runner.settings = {"binding": OTHER_OUTPUT}
    tuned = tune(max_runs=60, compare_output=False)
    assert tuned.verdict is Verdict.FASTER


def test_a_configuration_that_needs_much_more_memory_is_refused(tune):
    tune.runner.settings = {"binding": Behaviour(0.5, memory=4.0)}
    tuned = tune(max_runs=60)
    assert "a process grew to 4096 MiB" in rejections(tuned)[str(BOUND)]
    assert outcomes(tune, ("binding", "core")) == [Outcome.GREEDY]


def test_a_configuration_that_is_much_slower_is_stopped_early(tune):
    tune.runner.settings = {"binding": Behaviour(20.0)}
    tuned = tune(max_runs=60)
    assert "stopped early" in rejections(tuned)[str(BOUND)]
    stopped = [trial for trial in tune.trials if trial.outcome is Outcome.TIMED_OUT]
    assert 1 <= len(stopped) <= 4  # repeated once, and the first may have been disturbed
    assert all(trial.wall_s < 30.0 for trial in stopped)  # 200 s without a limit


def test_when_a_candidate_fails_in_its_proof_the_next_one_is_proved(tune, undisturbed):
    undisturbed.runner.settings = {"binding": Behaviour(0.8)}
    undisturbed(max_runs=80)
    first = next(t.number for t in undisturbed.trials if t.phase is Phase.PROOF and t.configuration)
    tune.runner.settings, tune.runner.nth = (
        undisturbed.runner.settings,
        dict.fromkeys(range(first, first + 4), FAILS),
    )
    tuned = tune(max_runs=80)
    assert rejections(tuned)[str(BOUND)] == "ended by signal 11"
    assert set(BOUND.items) < set(tuned.evidence.configuration.items)


def test_a_failing_command_is_reported_with_its_last_output(tune):
    tune.runner.original = Behaviour(
        outcome=Outcome.FAILED, reason="ended with status 1", stderr="no input\n"
    )
    with pytest.raises(ProgramFailedError, match="no input"):
        tune()
    assert len(tune.runner.launches) == 1


@pytest.mark.parametrize("limit", [12, 23, 40])
def test_no_more_runs_are_made_than_allowed(tune, limit):
    tune.runner.settings = {"binding": Behaviour(0.8)}
    tune(max_runs=limit)
    assert len(tune.runner.launches) <= limit


def test_too_few_runs_for_a_proof_are_reported(tune):
    assert any("a proof takes at least 12 runs" in note for note in tune(max_runs=10).notes)


def test_a_tune_ends_with_its_budget(tune):
    tune.runner.settings = {"binding": Behaviour(0.8)}
    tuned = tune(budget_s=400.0)
    assert tuned.verdict is Verdict.FASTER
    assert tuned.elapsed_s == pytest.approx(tune.runner.now_s)
    assert tuned.elapsed_s <= 400.0


@pytest.mark.parametrize("number", [4, 7, 14, 20])
def test_ctrl_c_gives_the_best_so_far_and_a_resumed_tune_runs_nothing_twice(tune, undisturbed, number):
    undisturbed.runner.settings = tune.runner.settings = {"binding": Behaviour(0.8)}
    uninterrupted = undisturbed(max_runs=60)

    tune.runner.nth = {number: INTERRUPTED}
    stopped = tune(max_runs=60)
    assert stopped.interrupted
    assert len(tune.runner.launches) == number
    assert (stopped.best_so_far and stopped.best_so_far.configuration) == (BOUND if number > 4 else None)

    resumed = tune(max_runs=60, resume=True)
    assert resumed.evidence.configuration == uninterrupted.evidence.configuration
    assert completed_runs(tune, Phase.SEARCH) == completed_runs(undisturbed, Phase.SEARCH)
    repeated = [run for run, count in completed_runs(tune, Phase.PROOF).items() if count > 1]
    assert len(repeated) <= (6 if number == 20 else 0)  # incomplete pairs of an interrupted block run again


def test_ctrl_c_in_the_first_runs_leaves_a_tune_that_can_be_resumed(tune):
    tune.runner.settings, tune.runner.nth = {"binding": Behaviour(0.8)}, {2: INTERRUPTED}
    with pytest.raises(KeyboardInterrupt):
        tune(max_runs=60)
    assert tune(max_runs=60, resume=True).verdict is Verdict.FASTER


def test_a_second_tune_starts_from_the_answer_of_the_first(tune):
    tune.runner.settings = {"huge-pages": Behaviour(0.8)}
    first = tune(max_runs=80)
    before = len(tune.runner.launches)
    log = read_log(Path(tune(max_runs=80).store) / "events.jsonl")
    searched = [trial for trial in log.trials_of(Phase.SEARCH) if trial.configuration]
    assert len(tune.runner.launches) > before
    assert searched[0].configuration == first.evidence.configuration


def test_the_cost_is_reported(tune):
    tuned = tune(max_runs=80)
    assert tuned.core_hours == pytest.approx(2 * sum(trial.wall_s for trial in tune.trials) / 3600)
