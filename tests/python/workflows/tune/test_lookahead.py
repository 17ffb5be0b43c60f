"""Planning ahead, on made-up programs: no launcher and no time."""

import contextlib
from dataclasses import replace
from math import exp
from random import Random

import pytest
from tests.support.landscapes import SHAPES, landscape
from tests.support.scripted_lab import prove, search

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Outcome, Phase, Run
from mpiric.plans.stages import EFFORTS
from mpiric.statistics.blocks import deal
from mpiric.tuning.objective import Budget
from mpiric.workflows.tune import array as module
from mpiric.workflows.tune.array import Lookahead, RoundFull

ORIGINAL = Configuration()
JOBS, ROUNDS, RUNS = 8, 4, 60


@pytest.fixture(autouse=True)
def _everything_can_be_written(monkeypatch):
    monkeypatch.setattr(module, "render", lambda *_: None)


class Cluster:
    """Makes rounds of runs, each block on nodes of its own."""

    def __init__(self, program, spread):
        self.program, self.spread, self.random = program, spread, Random(7)
        self.trials, self.rounds = [], []
        self.level = 0.0
        self.make(ORIGINAL, Phase.OBSERVE, "0")
        self.make(ORIGINAL, Phase.OBSERVE, "0")

    def make(self, configuration, phase, block, limit_s=None, pair=-1, replicate=0):
        trial = self.program.measure(configuration, limit_s or float("inf"))
        factor = exp(self.level)
        self.trials.append(
            replace(
                trial,
                phase=phase,
                wall_s=trial.wall_s * factor,
                objective=trial.objective and trial.objective * factor,
                block=block,
                pair=pair,
                replicate=replicate,
                number=len(self.trials),
            )
        )

    def make_round(self, planned):
        self.rounds.append(len(planned))
        for number, block in enumerate(deal(planned, JOBS, 4)):
            self.level = self.random.gauss(0, self.spread)
            name = f"{len(self.rounds)}-{number}"
            for _ in range(3):
                self.make(ORIGINAL, Phase.OBSERVE, name)
            for run in block:
                self.make(run.configuration, run.phase, name, run.limit_s, run.pair, run.replicate)


def searched(cluster):
    """The candidate that a search in rounds ends with."""
    for number in range(ROUNDS + 1):
        remaining = RUNS - sum(cluster.rounds)
        plan = Lookahead(cluster.trials, max(4, remaining // max(1, ROUNDS - number)))
        try:
            result = search(
                cluster.program.space,
                lambda configuration, limit_s, plan=plan: plan.predict(
                    Run(configuration, Phase.SEARCH, limit_s=limit_s), None
                ),
                Budget(runs=remaining if number < ROUNDS else 0, clock=lambda plan=plan: plan.passed_s),
                effort=EFFORTS["thorough"],
                recorded=plan.trials,
            )
        except RoundFull:
            result = None
        if not plan.planned:
            return result.candidates[0].configuration
        cluster.make_round(plan.planned)
    raise AssertionError("the last round asks for nothing")


@pytest.mark.parametrize("spread", [pytest.param(0.0, marks=pytest.mark.sweep), 0.1])
def test_a_search_in_few_rounds_finds_nearly_the_best(spread):
    losses = []
    for seed in range(4):
        program = landscape(seed, SHAPES[seed % len(SHAPES)], noise=0.01)
        losses.append(program.regret(searched(Cluster(program, spread))))
    assert sorted(losses)[2] < 0.05


def test_a_round_is_put_down_without_running_anything():
    program = landscape(0, noise=0.01)
    cluster = Cluster(program, 0.0)
    runs = program.runs
    plan = Lookahead(cluster.trials, 10)
    with pytest.raises(RoundFull):
        search(
            program.space,
            lambda configuration, limit_s: plan.predict(
                Run(configuration, Phase.SEARCH, limit_s=limit_s), None
            ),
            Budget(runs=40),
            recorded=plan.trials,
        )
    assert len(plan.planned) == 10 == len({run.configuration for run in plan.planned})
    assert program.runs == runs
    assert plan.passed_s > 0


def proof(cluster, candidate, capacity, units=()):
    plan = Lookahead(cluster.trials, capacity)
    proved = None
    with contextlib.suppress(RoundFull):
        proved = prove(
            lambda run: plan.predict(run, None),
            candidate,
            units,
            logged=[trial for trial in cluster.trials if trial.phase is Phase.PROOF],
        )
    return plan.planned, proved


def test_a_proof_in_rounds_rests_on_runs_that_were_made():
    program = landscape(2, noise=0.02)
    candidate = min((c for c, v in program.truth.items() if v is not None), key=program.truth.get)
    cluster = Cluster(program, 0.1)
    cluster.make(candidate, Phase.SEARCH, "0")
    rounds = 0
    while True:
        planned, proved = proof(cluster, candidate, 12)
        if not planned:
            break
        assert all(sum(run.pair == other.pair for other in planned) == 2 for run in planned)
        cluster.make_round(planned)
        rounds += 1
        assert rounds < 20
    evidence = proved.evidence
    proof_trials = [
        trial for trial in cluster.trials if trial.phase is Phase.PROOF and trial.outcome is Outcome.OK
    ]
    assert 2 * len(evidence.pairs) <= len(proof_trials)
    assert evidence.ratio == pytest.approx(exp(-program.truth[candidate]), rel=0.05)


def test_a_configuration_that_cannot_be_written_down_is_refused_and_not_planned(monkeypatch):
    def refuse(configuration, _):
        raise MpiricError("no")

    monkeypatch.setattr(module, "render", refuse)
    plan = Lookahead([], 3)
    assert plan.predict(Run(Configuration.of({"a": "1"}), Phase.SEARCH), None).outcome is Outcome.REFUSED
    assert plan.planned == []


@pytest.mark.parametrize("capacity", [6, 12, 30])
def test_rounds_of_a_proof_with_runs_without_each_unit_stay_whole(capacity):
    program = landscape(2, noise=0.005)
    configurations = [c for c, v in program.truth.items() if v is not None and len(c.items) == 2]
    candidate = min(configurations, key=program.truth.get)
    units = tuple((knob,) for knob, _ in candidate.items)
    cluster = Cluster(program, 0.1)
    cluster.make(candidate, Phase.SEARCH, "0")
    for _ in range(20):
        planned, proved = proof(cluster, candidate, capacity, units)
        if not planned:
            break
        for block in deal(planned, JOBS):
            for number in {run.pair for run in block}:
                assert [r for r in planned if r.pair == number] == [r for r in block if r.pair == number]
        cluster.make_round(planned)
    assert proved is not None
    assert [share.knobs for share in proved.evidence.shares] == list(units)
    assert all(share.runs for share in proved.evidence.shares)
