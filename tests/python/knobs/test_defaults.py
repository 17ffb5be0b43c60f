"""Rules of settings that are right without a run, on recorded and made-up machines."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.replay_host import ReplayHost
from tests.support.situations import BY_LABEL, MPIS, machine, situation

from mpiric.host.packaged import packaged_table
from mpiric.knobs import all_knobs, default_rules
from mpiric.knobs._defaults import _CONDITIONS
from mpiric.lab.render import as_variables
from mpiric.machine import read_machine
from mpiric.model.configuration import Configuration
from mpiric.model.job import LaunchOption, Meaning

ROOT = Path(__file__).parents[3]
RULES = packaged_table("knobs/_defaults")
RECORDED = read_machine(ReplayHost.load(ROOT / "tests/data/machines/debian12.json"), "/home/user")
ETHERNET = replace(machine(), nics=machine().nics[:2])


def names(case, **more):
    return [rule.name for rule in default_rules(case, **more)]


def values(case, **more):
    return {rule.name: rule.value for rule in default_rules(case, **more)}


def limited(quota: float, cpus: int = 2):
    plain = replace(machine(cores=cpus), nics=ETHERNET.nics)
    return replace(plain, limits=replace(plain.limits, cgroup_cpus=quota))


@pytest.mark.parametrize("name", RULES)
def test_a_rule_names_known_conditions_a_valid_value_and_its_proof(name):
    entry = RULES[name]
    assert set(entry["when"]) <= set(_CONDITIONS)
    assert all(entry[text] for text in ("reason", "source", "cost"))
    for case in entry["for"]:
        assert case["row"]
        assert bool(entry.get("knob")) != bool(case.get("set"))
        if "knob" in entry:
            assert all_knobs()[entry["knob"]].domain.accepts(case["value"].format(threads=2))


@pytest.mark.parametrize("library", MPIS, ids=lambda library: library.label)
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_each_value_that_holds_can_be_written_as_variables(library, ranks):
    case = situation(library, ranks=ranks, on=ETHERNET)
    for rule in default_rules(case):
        if rule.knob:
            assert as_variables(Configuration.of({rule.knob: rule.value}), case).environment


def test_ranks_of_mpich_5_give_way_when_there_are_more_than_cpus():
    assert (
        values(situation(BY_LABEL["mpich-5.0.2"], ranks=4, on=ETHERNET))["waiting-ranks-give-way"] == "yield"
    )


def test_ranks_with_a_cpu_each_do_not_give_way():
    assert "waiting-ranks-give-way" not in names(situation(BY_LABEL["mpich-5.0.2"], ranks=2, on=ETHERNET))


def test_a_limit_of_cpu_time_alone_does_not_make_ranks_give_way():
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=2, on=limited(1.0))
    assert "waiting-ranks-give-way" not in names(case)


@pytest.mark.parametrize("label", ["mpich-4.0.2", "openmpi-5.0.11", "intelmpi-2021.19"])
def test_libraries_without_a_measured_gain_do_not_give_way(label):
    assert "waiting-ranks-give-way" not in names(situation(BY_LABEL[label], ranks=8, on=ETHERNET))


@pytest.mark.parametrize(("label", "value"), [("openmpi-4.1.4", "own"), ("openmpi-5.0.11", "without-ofi")])
def test_open_mpi_on_one_node_opens_no_network(label, value):
    assert values(situation(BY_LABEL[label], on=ETHERNET))["networks-not-needed"] == value


def test_networks_are_kept_for_several_nodes_and_where_there_is_an_adapter():
    library = BY_LABEL["openmpi-5.0.11"]
    assert "networks-not-needed" not in names(situation(library, nodes=2, on=ETHERNET))
    assert "networks-not-needed" not in names(situation(library, on=machine()))


def test_a_version_that_was_not_measured_has_no_rule():
    library = replace(BY_LABEL["openmpi-5.0.11"], version="6.0.0")
    assert "networks-not-needed" not in names(situation(library, on=ETHERNET))


@pytest.mark.parametrize(("ranks", "threads"), [(2, "4"), (4, "2"), (8, "1"), (16, "1")])
def test_threads_are_the_cpus_of_a_rank(ranks, threads):
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=ranks, on=machine(cores=8))
    assert values(case)["threads-fit-the-cpus"] == threads


def test_threads_fit_a_limit_of_cpu_time():
    assert values(situation(BY_LABEL["mpich-5.0.2"], ranks=1, on=limited(1.0)))["threads-fit-the-cpus"] == "1"


def test_a_single_rank_with_all_cpus_keeps_its_threads():
    assert "threads-fit-the-cpus" not in names(situation(BY_LABEL["mpich-5.0.2"], ranks=1, on=ETHERNET))


def test_ranks_bound_to_a_core_get_no_more_threads():
    case = situation(BY_LABEL["openmpi-5.0.11"], ranks=2, on=machine(cores=8))
    assert "threads-fit-the-cpus" not in names(case)


def test_a_requested_number_of_threads_replaces_the_cpus_of_a_rank():
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=2, on=machine(cores=8))
    assert values(case, threads=3)["threads-fit-the-cpus"] == "3"


def test_a_requested_number_of_threads_is_set_for_a_single_rank():
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=1, on=machine(cores=8))
    assert values(case, threads=1)["threads-fit-the-cpus"] == "1"


def test_running_as_root_is_only_allowed_on_request():
    case = situation(BY_LABEL["openmpi-5.0.11"], on=ETHERNET)
    assert "run-as-root" not in names(case)
    assert "run-as-root" in names(case, requested=frozenset({"run-as-root"}))


def test_the_rules_on_a_recorded_machine():
    count = LaunchOption(("-n", "64"), Meaning.RANKS, ("64",))
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=64, on=RECORDED, options=(count,))
    assert len(RECORDED.usable_pus) < 64
    assert names(case) == ["waiting-ranks-give-way", "threads-fit-the-cpus"]
