"""A slow node in a record: separated from uneven work where the record allows it."""

import pytest
from tests.support.records import cell, rank, record

from mpiric.profile.analyse import analyse

RANKS_PER_NODE = 4


def findings(
    work_s, *, lost_s=0.0, instructions=None, bytes_=lambda number: 8000, sleeps=False, reference_ns=None
):
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
        if reference_ns:
            begin_ns, end_ns = reference_ns(number)
            facts |= {"reference.begin_ns": str(begin_ns), "reference.end_ns": str(end_ns)}
        calls = cell("MPI_Allreduce", 1000, bytes_(number), wall_s - own_s, size_bin=4)
        ranks.append(rank(number, wall_s, calls, facts=facts))
    return {advice.finding.id: advice for advice in analyse(record(*ranks)).advice}


SLOW = [13.0] * RANKS_PER_NODE + [10.0] * 3 * RANKS_PER_NODE  # all ranks of the first node
KINDS = {
    "slow-node", "slow-node-without-cpu", "slow-node-slow-cores", "slow-node-or-uneven-work",
    "uneven-work-on-node", "load-imbalance",
}  # fmt: skip


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


def reference(first_begin, first_end):
    """Return times of the fixed computation: of the ranks of the first node, 250 µs in all others."""

    def times(number):
        noise = (number * 7 % 5 - 2) / 1000
        is_first = number < RANKS_PER_NODE
        begin, end = (first_begin, first_end) if is_first else (1.0, 1.0)
        return round(250_000 * (begin + noise)), round(250_000 * (end - noise))

    return times


@pytest.mark.parametrize("moments", [(1.3, 1.3), (1.0, 1.25)], ids=["always", "at the end"])
def test_cores_that_compute_more_slowly_show_a_slow_node(moments):
    advice = findings(SLOW, reference_ns=reference(*moments))
    assert KINDS & set(advice) == {"slow-node-slow-cores"}
    finding = advice["slow-node-slow-cores"].finding
    assert f"takes {moments[1] - 1:.0%} longer there (".replace("%", " %") in finding.evidence
    assert "--exclude=n0" in finding.fix


def test_cores_that_are_as_fast_show_uneven_work():
    advice = findings(SLOW, reference_ns=reference(1.0, 1.0))
    assert KINDS & set(advice) == {"uneven-work-on-node"}
    assert "takes at most 2.5 % longer there" in advice["uneven-work-on-node"].finding.evidence


def test_cores_that_explain_a_part_of_the_time_leave_it_open():
    advice = findings(SLOW, reference_ns=reference(1.13, 1.13))
    assert KINDS & set(advice) == {"slow-node-or-uneven-work"}


def test_slow_cores_do_not_count_where_more_instructions_show_uneven_work():
    more = {"instructions": lambda number: 13 if number < RANKS_PER_NODE else 10}
    assert KINDS & set(findings(SLOW, reference_ns=reference(1.3, 1.3), **more)) == {"load-imbalance"}


def test_slow_cores_without_effect_on_the_work_are_not_reported():
    assert KINDS & set(findings([10.0] * 16, reference_ns=reference(1.3, 1.3))) == set()


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
