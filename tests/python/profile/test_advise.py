"""Rules of advice: each can be quoted, names numbers and knobs that exist, and holds only when it should."""

import re

import pytest
from tests.support.records import cell, rank, record

from mpiric import knobs
from mpiric.host.packaged import packaged_table
from mpiric.model.record import ReceiveTiming
from mpiric.profile.advise import advise_on, rules
from mpiric.profile.analyse import analyse

NUMBERS = analyse(record(rank(0, 1.0, cell("MPI_Send", 1, 8, 0.1)), rank(1, 1.0))).numbers
KINDS = {"poll_share", "wait_share"}  # numbers of functions that this record does not call


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_a_rule_looks_at_numbers_that_exist(rule):
    quoted = re.findall(r"{(\w+):", rule.says + rule.evidence + rule.fix + rule.basis)
    named = {condition.number for condition in rule.when} | set(quoted) | {rule.gain, rule.expected} - {""}
    assert named - KINDS <= set(NUMBERS)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_a_rule_names_knobs_that_exist_and_its_source(rule):
    assert set(rule.knobs) <= set(knobs.all_knobs())
    # An address, a page of a manual, or a named part of one.
    assert re.search(r"https://\S+|\w\(\d\)|[Mm]anual, \w|kernel documentation, \S+/\S+", rule.source)
    assert rule.fix
    families = {knob.family for knob in knobs.all_knobs().values()}
    assert set(filter(None, rule.only.split(","))) <= {*knobs.all_knobs(), *families}


@pytest.mark.parametrize("rule", [rule for rule in rules() if rule.apply], ids=lambda rule: rule.id)
def test_values_set_by_a_rule_belong_to_one_of_its_knobs(rule):
    knob, _, value = rule.apply.partition("=")
    assert knob in rule.knobs
    assert knobs.all_knobs()[knob].domain.accepts(value)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_an_expected_gain_says_its_model(rule):
    assert bool(rule.expected) == bool(rule.basis)


def test_rules_have_names_of_their_own():
    assert len({rule.id for rule in rules()}) == len(rules())


def advice_of(*ranks):
    return {advice.finding.id: advice for advice in analyse(record(*ranks)).advice}


def test_even_ranks_that_compute_are_left_in_peace():
    busy = {"host": "n1", "time.user_us": "9900000"}
    ranks = (
        rank(n, 10.0, cell("MPI_Allreduce", 9, 72, 0.1), facts={**busy, "affinity": str(n)}) for n in range(2)
    )
    assert advice_of(*ranks) == {}


def test_uneven_work_is_reported_with_the_busiest_rank():
    advice = advice_of(
        rank(0, 10.0, cell("MPI_Allreduce", 1, 8, 7.0)),
        rank(1, 10.0, cell("MPI_Allreduce", 1, 8, 1.0)),
    )
    assert "rank 1 works 1.50 times as long as the mean" in advice["load-imbalance"].finding.evidence
    assert advice["load-imbalance"].gain_share == pytest.approx(0.3)


def test_late_receives_are_reported_with_their_counts():
    late = ReceiveTiming(100, 60, 1 << 20, 4096)
    advice = advice_of(rank(0, 10.0, cell("MPI_Recv", 100, 1 << 20, 2.0, size_bin=14), receives=late))
    assert "60 % of 100 receives" in advice["late-receives"].finding.evidence
    assert "1 MiB" in advice["late-receives"].finding.evidence


@pytest.mark.parametrize("function", ["MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_flush_all"])
def test_waiting_for_a_passive_target_comes_before_waiting_in_collectives(function):
    origin = rank(0, 10.0, cell(function, 9, 0, 4.0), cell("MPI_Allreduce", 9, 72, 4.0, waited_s=4.0))
    advice = list(advice_of(origin, rank(1, 10.0, cell("MPI_Allreduce", 9, 72, 0.1))))
    assert advice.index("passive-target-waits") < advice.index("collectives-wait")


def test_accesses_without_a_lock_do_not_wait_for_a_passive_target():
    assert "passive-target-waits" not in advice_of(rank(0, 10.0, cell("MPI_Put", 9, 72, 5.0)), rank(1, 10.0))


def test_the_most_promising_advice_comes_first():
    advices = analyse(
        record(
            rank(0, 10.0, cell("MPI_Allreduce", 1, 8, 7.0)), rank(1, 10.0, cell("MPI_Allreduce", 1, 8, 1.0))
        )
    ).advice
    gains = [advice.promise for advice in advices]
    assert gains == sorted(gains, reverse=True)


def crowded():
    """Four ranks on two CPUs that spend most of their time in a collective."""
    busy = {"host": "n1", "affinity": "0-1", "switches.involuntary": "500", "time.user_us": "5000000"}
    return [rank(number, 10.0, cell("MPI_Allreduce", 1000, 8 << 20, 7.0), facts=busy) for number in range(4)]


def test_more_ranks_than_cpus_comes_before_its_effect_on_collectives():
    advices = analyse(record(*crowded())).advice
    ids = [advice.finding.id for advice in advices]
    effects = [advice for advice in advices if advice.effect_of]
    assert ids[0] == "more-ranks-than-cpus"
    assert {advice.finding.id for advice in effects} & {"collectives-wait", "collectives-move-data"}
    assert all(
        ids.index(cause) < ids.index(effect.finding.id) for effect in effects for cause in effect.effect_of
    )


def test_an_effect_names_only_existing_causes():
    alone = [rank(n, 10.0, cell("MPI_Allreduce", 9, 72, 7.0), facts={"affinity": str(n)}) for n in range(2)]
    advices = advice_of(*alone)
    assert advices
    assert all("more-ranks-than-cpus" not in advice.effect_of for advice in advices.values())


def test_causes_are_rules_and_their_chains_end():
    effect_of = {rule.id: rule.effect_of for rule in rules()}
    settings = set(packaged_table("knobs/_inherited"))
    assert {cause for causes in effect_of.values() for cause in causes} <= set(effect_of) | settings

    def chain(name, visited=()):
        assert name not in visited, visited
        for cause in effect_of.get(name, ()):
            chain(cause, (*visited, name))

    for name in effect_of:
        chain(name)


STARTS_LONG = {
    "barrier_share": 0.5,
    "barrier_transfer_share": 0.2,
    "start_up_s": 3.0,
    "start_up_share": 0.75,
    "wall_s": 1.0,
    "nodes": 1.0,
}


def test_gains_are_shares_of_the_run_with_the_start_and_end_of_mpi():
    advice = {item.finding.id: item for item in advise_on(STARTS_LONG, "./app")}
    assert advice["start-up"].gain_share == 0.75
    assert advice["barriers"].gain_share == pytest.approx(0.125)
    assert advice["barriers"].expected_share == pytest.approx(0.05)


def test_gains_are_shares_of_the_run_with_the_launcher_where_its_time_is_known():
    around = {"launcher_start_s": 2.0, "program_start_s": 1.0, "launcher_end_s": 1.0}
    advice = {item.finding.id: item for item in advise_on({**STARTS_LONG, **around}, "./app")}
    assert advice["start-up"].gain_share == pytest.approx(0.75 * 5.0 / 8.0)
    assert advice["barriers"].gain_share == pytest.approx(0.5 / 8.0)


@pytest.mark.parametrize(("nodes", "reported"), [(1.0, "start-up"), (2.0, "start-up-on-several-nodes")])
def test_a_long_start_up_is_reported_with_the_cure_for_the_number_of_nodes(nodes, reported):
    ids = {item.finding.id for item in advise_on({**STARTS_LONG, "nodes": nodes}, "./app")}
    assert {"start-up", "start-up-on-several-nodes"} & ids == {reported}
