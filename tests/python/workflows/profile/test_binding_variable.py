"""The variable that binds all ranks to the same CPUs is named instead of its effect."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.support.records import rank, record
from tests.support.situations import machine, situation

from mpiric.model.job import LaunchOption, Meaning
from mpiric.profile.analyse import analyse
from mpiric.workflows.placement.verify import judge_record, variables_that_bind
from mpiric.workflows.profile.profile import _name_binding_variable

HERE = machine(cores=4)
ON_ONE = record(*(rank(n, 1.0, facts={"host": "n1", "affinity": "0"}) for n in range(2)))


def job(*options: LaunchOption, environment=None, **changed):
    return replace(situation(options=options).job, environment=environment or {}, **changed)


def advice_of(launch):
    advice = analyse(ON_ONE, "CMD", {"n1": 4}).advice
    parsed = SimpleNamespace(job=launch, machine=HERE)
    named = _name_binding_variable(advice, ON_ONE, parsed)
    return next(item for item in named if item.finding.id == "ranks-share-a-cpu")


def test_the_advice_of_a_profile_names_the_variable():
    item = advice_of(job(environment={"OMP_PROC_BIND": "true"}))
    assert item.finding.says == "OMP_PROC_BIND=true binds several ranks to the same cores."
    assert item.commands == ()


def test_the_advice_of_a_profile_without_a_variable_is_unchanged():
    assert advice_of(job()).finding.says.startswith("Several ranks are bound to the same CPU")


def test_the_placement_of_a_record_names_the_variable():
    launch = job(environment={"GOMP_CPU_AFFINITY": "0"})
    (finding,) = [item for item in judge_record(ON_ONE, HERE, launch) if item.id == "ranks-overlap"]
    assert finding.fix.startswith("unset GOMP_CPU_AFFINITY,")


def test_a_variable_on_the_command_line_counts():
    option = LaunchOption(("-x", "OMP_PLACES=cores"), Meaning.ENVIRONMENT, ("OMP_PLACES", "cores"))
    assert variables_that_bind(job(option)) == "OMP_PLACES=cores"


@pytest.mark.parametrize(
    "changed",
    [
        {"binding_wrapper": "taskset -c 0"},
        {"prefix": ("taskset", "-c", "0")},
    ],
)
def test_a_command_that_binds_its_ranks_itself_names_no_variable(changed):
    assert variables_that_bind(job(environment={"OMP_PROC_BIND": "true"}, **changed)) == ""


def test_a_list_of_cpus_on_the_command_line_names_no_variable():
    option = LaunchOption(("-bind-to", "user:0,0"), Meaning.BINDING, ("user:0,0",))
    assert variables_that_bind(job(option, environment={"OMP_PROC_BIND": "true"})) == ""
