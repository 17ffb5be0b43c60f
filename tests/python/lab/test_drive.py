"""The loop that runs plans: values that it sends, exceptions, results."""

import pytest

from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Run
from mpiric.model.trial import Outcome, Phase, Trial

RUN = Run(Configuration(), Phase.SEARCH)


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
