"""The fastest of several builds of a program, by a lab of a script."""

import pytest

from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Verdict
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.plans.fastest import BASELINE, fastest

NATIVE, SMALL = Configuration.of({"build": "gcc -march=native"}), Configuration.of({"build": "gcc -Os"})


class Script:
    """Programs that take a fixed time, but for a little that grows with each run."""

    def __init__(self, seconds):
        self.seconds, self.phases = seconds, []

    def __call__(self, run):
        self.phases.append(run.phase)
        wall_s = self.seconds[run.configuration] * (1 + 0.001 * (len(self.phases) % 3))
        return Trial(run.configuration, run.phase, Outcome.OK, wall_s, wall_s, pair=run.pair)


def test_the_best_program_is_proved_by_pairs_that_did_not_choose_it():
    script = Script({BASELINE: 2.0, NATIVE: 1.0, SMALL: 3.0})
    winner = drive(fastest((NATIVE, SMALL), 2, seed=1), script)
    assert winner.evidence.configuration == NATIVE
    assert winner.evidence.verdict is Verdict.FASTER
    assert winner.ratios[NATIVE] == pytest.approx(2.0, rel=0.01)
    assert script.phases[:6] == [Phase.SEARCH] * 6
    assert set(script.phases[6:]) == {Phase.PROOF}


def test_where_the_first_is_the_fastest_nothing_is_proved():
    script = Script({BASELINE: 1.0, NATIVE: 2.0})
    assert drive(fastest((NATIVE,), 2, seed=1), script).evidence is None
    assert len(script.phases) == 4


def test_a_program_that_is_as_fast_is_not_a_difference():
    script = Script({BASELINE: 1.0, NATIVE: 0.9999})
    evidence = drive(fastest((NATIVE,), 2, seed=3), script).evidence
    assert evidence is None or not evidence.verdict.is_claim


def test_without_rounds_nothing_runs():
    assert drive(fastest((NATIVE,), 0, seed=1), Script({})).ratios == {}
