from random import Random
from statistics import fmean

import pytest

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.statistics.blocks import deal, levelled

A, B = Configuration.of({"a": "1"}), Configuration.of({"b": "1"})
ORIGINAL = Configuration()


def search(configuration):
    return Run(configuration, Phase.SEARCH)


def pair(number):
    return [Run(ORIGINAL, Phase.PROOF, number), Run(A, Phase.PROOF, number)]


def trial(configuration, seconds, block="", phase=Phase.SEARCH, outcome=Outcome.OK, pair=-1):
    return Trial(configuration, phase, outcome, seconds, seconds, block=block, pair=pair)


@pytest.mark.parametrize(("runs", "limit", "fewest", "sizes"), [
    (12, 4, 1, [3, 3, 3, 3]),
    (10, 4, 1, [3, 2, 3, 2]),
    (10, 8, 4, [5, 5]),
    (3, 8, 4, [3]),
    (1, 1, 1, [1]),
])  # fmt: skip
def test_runs_are_dealt_out_evenly_and_in_order(runs, limit, fewest, sizes):
    planned = [search(Configuration.of({"n": str(number)})) for number in range(runs)]
    blocks = deal(planned, limit, fewest)
    assert sorted(map(len, blocks)) == sorted(sizes)
    assert [run for block in blocks for run in block] == planned


def test_a_pair_of_a_proof_stays_in_one_block():
    blocks = deal([run for number in range(5) for run in pair(number)], 4)
    assert sum(map(len, blocks)) == 10
    for block in blocks:
        assert all(sum(run.pair == other.pair for other in block) == 2 for run in block)


def simulated_trials(random, noise, nodes, blocks=8):
    """A is as fast as the original; blocks differ by ``nodes``."""
    for block in range(blocks):
        level = random.gauss(0, nodes)
        for configuration, phase in [(ORIGINAL, Phase.OBSERVE)] * 3 + [(A, Phase.SEARCH)] * 3:
            yield trial(configuration, 10 * (1 + level + random.gauss(0, noise)), str(block), phase)


def differences(trials):
    """Differences of each block's runs of A from the mean of all."""
    original_times = {}
    for trial in trials:
        if trial.configuration == A:
            original_times.setdefault(trial.block, []).append(trial.objective)
    means = [fmean(values) for values in original_times.values()]
    return fmean(abs(mean - fmean(means)) for mean in means)


def test_slower_nodes_are_levelled_out():
    trials = list(simulated_trials(Random(1), noise=0.002, nodes=0.1))
    assert differences(levelled(trials)) < differences(trials) / 10


def test_equal_nodes_are_left_nearly_as_they_are():
    """The noise of a block's few originals is not to be laid on all of its runs."""
    ratios = []
    for seed in range(20):
        trials = list(simulated_trials(Random(seed), noise=0.05, nodes=0.0))
        ratios.append(differences(levelled(trials)) / differences(trials))
    assert fmean(ratios) < 1.15


def test_a_single_block_is_left_alone():
    trials = [trial(ORIGINAL, 2.0, "0", Phase.OBSERVE), trial(A, 1.0, "0")]
    assert levelled(trials) == tuple(trials)


def test_a_failed_run_has_nothing_to_level():
    failed = Trial(A, Phase.SEARCH, Outcome.FAILED, 1.0, block="1")
    runs = [trial(ORIGINAL, seconds, block, Phase.OBSERVE) for block, seconds in (("0", 1.0), ("1", 3.0))]
    assert levelled([*runs, failed])[-1] == failed
