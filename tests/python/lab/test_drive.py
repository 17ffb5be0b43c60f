"""The loop that runs plans: values that it sends, exceptions, results."""

import pytest

from mpiric.lab.lab import LoggedTrials, drive
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Outcome, Phase, Run, Trial

ORIGINAL = Configuration()
RUN = Run(ORIGINAL, Phase.SEARCH)


def measure(run):
    return Trial(run.configuration, run.phase, Outcome.OK, 1.0, 1.0)


def interrupt(run):
    raise KeyboardInterrupt


def test_a_plan_without_runs_returns_at_once():
    def plan():
        yield from ()
        return 7

    assert drive(plan(), interrupt) == 7


def test_each_trial_is_reported_before_the_plan_sees_it():
    reported = []

    def plan():
        while len(reported) < 4:
            trial = yield RUN
            reported.append(("plan", trial.outcome))

    drive(plan(), measure, lambda trial: reported.append(("report", trial.outcome)))
    assert [who for who, _ in reported] == ["report", "plan"] * 2


def test_an_interrupted_plan_may_return_its_partial_result():
    trials = iter([measure, interrupt])

    def plan():
        count = 0
        try:
            while True:
                yield RUN
                count += 1
        except KeyboardInterrupt:
            return count

    assert drive(plan(), lambda run: next(trials)(run)) == 1


def test_a_plan_may_make_a_last_run_when_it_is_interrupted():
    trials = iter([interrupt, measure])

    def plan():
        try:
            yield RUN
        except KeyboardInterrupt:
            return (yield RUN).outcome

    assert drive(plan(), lambda run: next(trials)(run)) is Outcome.OK


def test_an_error_of_a_run_ends_the_plan():
    closed = []

    def plan():
        try:
            yield RUN
        finally:
            closed.append(True)

    def fail(run):
        raise MpiricError("the host is gone")

    with pytest.raises(MpiricError, match="gone"):
        drive(plan(), fail)
    assert closed


def proof(pair, configuration=ORIGINAL, replicate=0):
    return Run(configuration, Phase.PROOF, pair, replicate=replicate)


def logged(run, outcome=Outcome.OK, wall_s=1.0):
    return Trial(
        run.configuration, run.phase, outcome, wall_s, wall_s, pair=run.pair, replicate=run.replicate
    )


A, B = Configuration.of({"binding": "core"}), Configuration.of({"malloc": "arena"})


def test_logged_trials_are_sent_before_anything_runs():
    def plan():
        walls = []
        while len(walls) < 3:
            trial = yield RUN
            walls.append(trial.wall_s)
        return walls

    earlier = LoggedTrials([logged(RUN, wall_s=5.0), logged(RUN, wall_s=6.0)])
    reported = []
    assert drive(plan(), measure, reported.append, earlier) == [5.0, 6.0, 1.0]
    assert len(reported) == 1
    assert earlier.passed_s == 11.0


def test_an_interrupted_trial_answers_no_run():
    assert LoggedTrials([logged(RUN, Outcome.INTERRUPTED)]).take(RUN) is None


def test_a_trial_answers_one_run_of_its_configuration():
    earlier = LoggedTrials([logged(RUN)])
    assert earlier.take(Run(A, Phase.SEARCH)) is None
    assert earlier.take(RUN) is not None
    assert earlier.take(RUN) is None


def test_a_proof_goes_through_the_logged_rounds_of_its_answer_before_fresh_ones():
    rounds = [(0, A), (1, A), (2, B)]
    runs = [proof(pair, side) for pair, answer in rounds for side in (ORIGINAL, answer)]
    earlier = LoggedTrials(map(logged, runs))
    assert [earlier.round_of(B) for _ in range(2)] == [2, 3]
    assert [earlier.round_of(A) for _ in range(3)] == [0, 1, 4]
    assert earlier.take(proof(1, A)) is not None
    assert earlier.take(proof(3)) is None


def test_half_a_pair_is_made_again_as_a_whole():
    pair = [proof(0), proof(0, A)]
    for half in pair:
        earlier = LoggedTrials([logged(half)])
        assert earlier.round_of(A) == 1
        assert [earlier.take(run) for run in pair] == [None, None]
    earlier = LoggedTrials(map(logged, pair))
    assert None not in [earlier.take(run) for run in pair]


def test_of_a_pair_that_was_made_again_the_later_runs_count():
    trials = [logged(proof(0, A), wall_s=9.0), logged(proof(0, A)), logged(proof(0))]
    assert LoggedTrials(trials).take(proof(0, A)).wall_s == 1.0


def test_an_answer_that_failed_stays_rejected():
    earlier = LoggedTrials([logged(proof(0, A), Outcome.FAILED)])
    assert earlier.round_of(A) == 0
    assert earlier.take(proof(0)) is None
    assert earlier.take(proof(0, A)).outcome is Outcome.FAILED


def test_runs_without_a_setting_that_are_missing_in_a_logged_round_are_made():
    without = proof(0, B, replicate=-1)
    assert LoggedTrials(map(logged, [proof(0), proof(0, A)])).take(without) is None
    assert LoggedTrials(map(logged, [proof(0), proof(0, A), without])).take(without) is not None
