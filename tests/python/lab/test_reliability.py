"""A program that fails by itself now and then: its failures count against no setting."""

import pytest
from tests.support.marks_files import marks_file
from tests.support.scripted_runner import FAILS, Behaviour, ScriptedRunner
from tests.support.trials_stand import BOUND, Stand

from mpiric.lab.failures import Reliability
from mpiric.lab.probes import BetweenMarkers
from mpiric.model.configuration import Configuration
from mpiric.model.pace import MarkKey, MarkPair
from mpiric.model.run import Execution, Outcome, Phase, Trial
from mpiric.profile.marks import read_marks

HANGS = Behaviour(100.0)
FREE = Configuration.of({"binding": "none"})


@pytest.fixture
def stand(tmp_path):
    return lambda **options: Stand(tmp_path, runner=ScriptedRunner(**options))


def test_a_failure_that_does_not_come_again_is_withdrawn(stand):
    bench = stand(nth={1: FAILS})
    assert bench.run(BOUND).outcome is Outcome.OK
    assert bench.outcomes == [Outcome.INTERRUPTED, Outcome.OK]


def test_a_setting_that_fails_in_every_run_is_rejected(stand):
    bench = stand(settings={"binding": FAILS})
    for _ in range(3):
        bench.run()
    assert bench.run(BOUND).outcome is Outcome.FAILED
    assert bench.outcomes.count(Outcome.FAILED) in (2, 3)


def test_a_time_out_that_does_not_come_again_is_withdrawn(stand):
    bench = stand(nth={1: HANGS})
    assert bench.run(BOUND, limit_s=50.0).outcome is Outcome.OK


def test_runs_that_are_slow_are_repeated_only_at_first(stand):
    bench = stand(settings={"binding": HANGS})
    for _ in range(5):
        assert bench.run(BOUND, limit_s=50.0).outcome is Outcome.TIMED_OUT
    assert bench.outcomes == [Outcome.TIMED_OUT] * (5 + 2)


def test_rejections_are_withdrawn_when_the_original_fails_likewise(stand):
    bench = stand(settings={"binding=core": HANGS}, nth={4: HANGS})
    bench.run(BOUND, limit_s=50.0)
    bench.run()
    assert bench.lab.corrected == []
    assert bench.run(limit_s=50.0).outcome is Outcome.TIMED_OUT
    assert {trial.outcome for trial in bench.lab.corrected} == {Outcome.INTERRUPTED}
    assert "did not end in 1 of 2 runs" in bench.lab.reliability.of_command[0]


def test_one_hang_in_five_runs_rejects_nothing(stand):
    bench = stand(nth=dict.fromkeys(range(3, 100, 5), HANGS))
    for _ in range(5):
        bench.run(limit_s=50.0)
    assert [bench.run(BOUND, limit_s=50.0).outcome for _ in range(20)] == [Outcome.OK] * 20


def test_a_setting_that_fails_far_more_often_than_the_original_is_rejected() -> None:
    reliability = Reliability()
    for number in range(20):
        reliability.enter(Trial(Configuration(), Phase.SEARCH, Outcome.OK, 1.0, number=number))
    fails = Trial(BOUND, Phase.PROOF, Outcome.FAILED, 1.0, reason="ended by signal 11")
    for outcome in (fails, Trial(BOUND, Phase.PROOF, Outcome.OK, 1.0), fails):
        reliability.enter(outcome)
    assert reliability.is_unreliable(fails)
    assert "2 of 3 runs" in reliability.sentence(fails)


PAIR = MarkPair(MarkKey("MPI_Allreduce", "lmp+0x48f2", 4, 0), 10, 20)
CROSSED = ((1.0, 10, 100), (2.0, 20, 200))


@pytest.mark.parametrize("state", [1, 3])  # running when it was killed, or aborted
def test_a_run_with_complete_marks_is_valid_for_any_exit_status(tmp_path, state):
    run = BetweenMarkers(PAIR, ends=True, directory=tmp_path)
    marks_file(tmp_path, 0, state=state, crossings=CROSSED)
    assert not run.holds_window(read_marks(tmp_path))  # rank 1 is missing
    marks_file(tmp_path, 1, state=state, crossings=CROSSED)
    assert run.holds_window(read_marks(tmp_path))
    execution = Execution(Outcome.FAILED, 3.0, 137, "ended with exit status 137")
    assert run.marks(execution) is not None
    assert not BetweenMarkers(PAIR, directory=tmp_path).holds_window(read_marks(tmp_path))


def test_a_rank_that_did_not_come_to_the_last_mark_leaves_no_whole_window(tmp_path):
    run = BetweenMarkers(PAIR, ends=True, directory=tmp_path)
    marks_file(tmp_path, 0, state=1, crossings=CROSSED)
    marks_file(tmp_path, 1, state=1)
    assert not run.holds_window(read_marks(tmp_path))


def test_an_original_that_hangs_in_a_pair_is_not_taken_for_a_slow_one(stand):
    bench = stand(nth={3: HANGS})
    for _ in range(2):
        bench.run()
    hung = bench.run(limit_s=500.0, stop_at=20.0)
    assert (hung.outcome, hung.at_least) == (Outcome.TIMED_OUT, None)
    assert bench.lab.reliability.of_command


def test_an_original_that_usually_takes_longer_than_its_pair_is_stopped(stand):
    bench = stand()
    bench.run()
    assert bench.run(limit_s=500.0, stop_at=4.0).at_least == 4.0
