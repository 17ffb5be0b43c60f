"""Runs in turn: each configuration meets the same drift of the machine."""

import pytest

from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.plans.in_turn import in_turn

BASELINE, BOUND = Configuration(), Configuration.of({"binding": "core"})


def test_each_configuration_runs_once_a_round():
    configurations = []

    def measure(run):
        configurations.append((run.configuration, run.pair))
        return Trial(run.configuration, run.phase, Outcome.OK, 1.0, float(len(configurations)))

    assert drive(in_turn((BASELINE, BOUND), 2), measure) == {BASELINE: [1.0, 3.0], BOUND: [2.0, 4.0]}
    assert configurations == [(BASELINE, 0), (BOUND, 0), (BASELINE, 1), (BOUND, 1)]


def test_a_run_that_fails_ends_the_comparison():
    def measure(run):
        return Trial(run.configuration, Phase.HISTORY, Outcome.FAILED, 1.0, reason="exit status 3")

    with pytest.raises(MpiricError, match="exit status 3"):
        drive(in_turn((BASELINE,), 2), measure)


def test_an_interruption_is_thrown_into_the_plan():
    def measure(run):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive(in_turn((BASELINE,), 2), measure)
