"""A slow node in a record: separated from uneven work where the record allows it."""

import pytest
from tests.support.records import cell, rank, record

from mpiric.profile.analyse import analyse

RANKS_PER_NODE = 4


def findings(work_s, *, lost_s=0.0, instructions=None, bytes_=lambda number: 8000, sleeps=False):
    """Return the advice on ranks of several nodes; ranks of the first node lose ``lost_s`` of CPU time."""
    wall_s = max(work_s) + 0.1
    ranks = []
    for number, own_s in enumerate(work_s):
        lost = lost_s if number < RANKS_PER_NODE else 0.0
        on_cpu_s = (own_s if sleeps else wall_s) - lost
        facts = {
            "host": f"n{number // RANKS_PER_NODE}",
            "affinity": str(number),
            "time.user_us": str(int(on_cpu_s * 1e6)),
        }
        if instructions:
            facts["counter.instructions"] = str(instructions(number))
        calls = cell("MPI_Allreduce", 1000, bytes_(number), wall_s - own_s, size_bin=4)
        ranks.append(rank(number, wall_s, calls, facts=facts))
    return {advice.finding.id: advice for advice in analyse(record(*ranks)).advice}


SLOW = [13.0] * RANKS_PER_NODE + [10.0] * 3 * RANKS_PER_NODE  # all ranks of the first node
KINDS = {"slow-node", "slow-node-without-cpu", "slow-node-or-uneven-work", "load-imbalance"}


def test_equal_instructions_show_a_slow_node_and_its_name():
    advice = findings(SLOW, instructions=lambda number: 10**10)
    assert KINDS & set(advice) == {"slow-node"}
    finding = advice["slow-node"].finding
    assert "n0" in finding.says
    assert "30 % longer" in finding.evidence
    assert "--exclude=n0" in finding.fix
    assert advice["slow-node"].gain_share == pytest.approx(3 / 13.1, rel=1e-3)


def test_more_instructions_show_uneven_work():
    advice = findings(SLOW, instructions=lambda number: 13 if number < RANKS_PER_NODE else 10)
    assert KINDS & set(advice) == {"load-imbalance"}


@pytest.mark.parametrize("sleeps", [False, True], ids=["spinning", "sleeping"])
def test_lost_cpu_time_shows_a_slow_node(sleeps):
    advice = findings(SLOW, lost_s=3.0, sleeps=sleeps)
    assert KINDS & set(advice) == {"slow-node-without-cpu"}
    assert "without a CPU for 3 s" in advice["slow-node-without-cpu"].finding.evidence


def test_without_evidence_both_explanations_are_named():
    advice = findings(SLOW)
    assert KINDS & set(advice) == {"slow-node-or-uneven-work"}
    assert advice["slow-node-or-uneven-work"].commands == ("mpiric nodes",)


def test_more_bytes_on_the_node_show_uneven_work():
    advice = findings(SLOW, bytes_=lambda number: 9000 if number < RANKS_PER_NODE else 8000)
    assert KINDS & set(advice) == {"load-imbalance"}


def test_one_busy_rank_of_a_node_is_uneven_work():
    assert KINDS & set(findings([20.0] + [10.0] * 15)) == {"load-imbalance"}


def test_ranks_that_cross_a_node_are_uneven_work():
    assert KINDS & set(findings([13.0] * 6 + [10.0] * 10)) <= {"load-imbalance", "slow-node-or-uneven-work"}
    assert KINDS & set(findings([20.0] * 2 + [10.0] * 14)) == {"load-imbalance"}


def test_equal_nodes_have_no_finding():
    assert KINDS & set(findings([10.0, 10.1, 9.9, 10.0] * 4)) == set()
