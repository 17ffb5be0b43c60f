"""Trials of a scripted program: judged, repeated and excused, each stored before it is reported."""

from collections import Counter
from pathlib import Path

import pytest
from tests.support.scripted_runner import FAILS, INTERRUPTED, Behaviour, ScriptedRunner
from tests.support.trials_stand import BOUND, SITUATION, Directories, Excuses, Stand

from mpiric.lab.failures import LostAllocationError
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Run
from mpiric.tuning.objective import Objective, parse_objective


@pytest.fixture
def stand(tmp_path):
    return lambda **options: Stand(tmp_path, **options)


def test_a_trial_is_stored_before_it_is_reported(stand):
    lab_parts = stand()
    trial = lab_parts.run(BOUND, phase=Phase.PROOF, pair=3)
    assert lab_parts.log.read().trials == (trial,)
    assert (trial.outcome, trial.pair, trial.objective) == (Outcome.OK, 3, trial.wall_s)


def test_a_run_that_is_stopped_in_its_pair_tells_how_long_it_takes_at_least(stand):
    lab_parts = stand(runner=ScriptedRunner(settings={"binding": Behaviour(4.0)}))
    trial = lab_parts.run(BOUND, phase=Phase.PROOF, pair=3, replicate=2, limit_s=30.0, stop_at=20.0)
    assert (trial.outcome, trial.objective) == (Outcome.TIMED_OUT, None)
    assert trial.wall_s >= trial.at_least == 20.0
    assert (trial.pair, trial.replicate) == (3, 2)
    assert lab_parts.log.read().trials == (trial,)
    assert lab_parts.run(BOUND, limit_s=20.0).at_least is None


def test_a_value_without_a_setting_is_refused_without_a_run(stand):
    lab_parts = stand()
    assert lab_parts.run(Configuration.of({"binding": "no-such-place"})).outcome is Outcome.REFUSED
    assert lab_parts.runner.launches == []


def test_output_of_the_original_is_kept_and_that_of_others_is_not(stand):
    lab_parts = stand()
    assert Path(lab_parts.run(phase=Phase.OBSERVE).stdout).exists()
    assert not Path(lab_parts.run(BOUND).stdout).exists()


def test_the_output_of_a_failure_is_kept(stand):
    lab_parts = stand(runner=ScriptedRunner(settings={"binding": FAILS}))
    trial = lab_parts.run(BOUND)
    assert trial.reason == "ended by signal 11"
    assert Path(trial.stderr).exists()


def test_different_output_is_in_doubt_only_a_few_times(stand):
    lab_parts = stand(runner=ScriptedRunner(settings={"binding": Behaviour(stdout="energy 3\n")}))
    lab_parts.learn()
    assert [lab_parts.run(BOUND).outcome for _ in range(6)] == [Outcome.DIFFERENT] * 6
    assert Counter(trial.phase for trial in lab_parts.log.read().trials)[Phase.OBSERVE] == 2 + 3


def test_a_printed_number_is_the_objective(stand):
    runner = ScriptedRunner(original=Behaviour(stdout="rate 250.0 steps/s\n"))
    lab_parts = stand(runner=runner, objective=parse_objective("output:rate ([0-9.]+)", maximise=True))
    assert lab_parts.run().objective == pytest.approx(1 / 250)


def test_a_run_without_the_number_of_the_objective_has_failed(stand):
    lab_parts = stand(objective=parse_objective("output:rate ([0-9.]+)", maximise=True))
    trial = lab_parts.run()
    assert (trial.outcome, trial.objective) == (Outcome.FAILED, None)
    assert "no number that matches" in trial.reason


@pytest.mark.parametrize(("check", "outcome"), [("true", Outcome.OK), ("exit 3", Outcome.DIFFERENT)])
def test_the_users_own_check_decides(stand, check, outcome):
    assert stand(check_command=check).run(BOUND).outcome is outcome


def test_a_failure_of_a_host_is_excused_and_the_run_made_again(stand):
    lab_parts = stand(runner=ScriptedRunner(nth={1: FAILS, 2: FAILS}), excuses=Excuses(2))
    assert lab_parts.run(BOUND).outcome is Outcome.OK
    assert lab_parts.outcomes == [Outcome.INTERRUPTED, Outcome.INTERRUPTED, Outcome.OK]
    assert lab_parts.log.read().trials[0].reason == "node n1 went down"


def test_a_fourth_failure_in_a_row_has_no_excuse(stand):
    lab_parts = stand(runner=ScriptedRunner(settings={"binding": FAILS}), excuses=Excuses(100))
    assert lab_parts.run(BOUND).outcome is Outcome.FAILED
    assert lab_parts.outcomes == [Outcome.INTERRUPTED] * 3 + [Outcome.FAILED] * 4  # again before it counts


def test_excuses_are_good_again_after_a_run_that_worked(stand):
    lab_parts = stand(
        runner=ScriptedRunner(nth=dict.fromkeys((1, 2, 3, 5, 6, 7), FAILS)), excuses=Excuses(100)
    )
    assert [lab_parts.run(BOUND).outcome for _ in range(2)] == [Outcome.OK, Outcome.OK]


def test_a_lost_host_ends_the_trials_after_it_was_noted(stand):
    lab_parts = stand(runner=ScriptedRunner(nth={1: FAILS}), excuses=Excuses(lost="n1 is gone"))
    with pytest.raises(LostAllocationError, match="n1 is gone"):
        lab_parts.run(BOUND)
    assert lab_parts.excuses.was_closed
    assert [(trial.outcome, trial.reason) for trial in lab_parts.log.read().trials] == [
        (Outcome.INTERRUPTED, "n1 is gone")
    ]


def test_an_interrupted_run_is_noted_before_the_interruption_passes(stand):
    lab_parts = stand(runner=ScriptedRunner(nth={1: INTERRUPTED}))
    with pytest.raises(KeyboardInterrupt):
        lab_parts.run(BOUND)
    assert lab_parts.outcomes == [Outcome.INTERRUPTED]


def test_trials_are_numbered_on_from_those_of_the_store(stand):
    lab_parts = stand()
    lab_parts.run()
    again = Lab(lab_parts.runner, Directories(lab_parts.place / "store"), lab_parts.log, Judge(Objective()))
    again.situation = SITUATION
    assert again.measure(Run(BOUND, Phase.SEARCH)).number == 2
