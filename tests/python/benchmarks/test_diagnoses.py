"""The benchmark of diagnoses: its rules of judgement, and cases that name known findings."""

from dataclasses import replace

import pytest
from benchmarks.diagnoses import CASES, Sick, judge, summarise

SICK = Sick("sick", "{start} {sick}", ("killed",), error="belongs to")
HEALTHY = Sick("healthy", "{start} {sick}", ())


@pytest.mark.parametrize(
    ("case", "findings", "error", "result"),
    [
        (SICK, ["killed", "start-up"], "", "right"),
        (SICK, ["start-up", "killed"], "", "wrong"),
        (SICK, [], "", "silent"),
        (SICK, [], "mpiric: it belongs to another MPI", "right"),
        (SICK, [], "mpiric: no such option", "wrong"),
        (HEALTHY, [], "", "right"),
        (HEALTHY, ["start-up"], "", "right"),
        (HEALTHY, ["killed"], "", "wrong"),
        (HEALTHY, [], "mpiric: no such option", "wrong"),
    ],
)
def test_only_the_first_finding_counts(case, findings, error, result):
    assert judge(case, [{"id": name} for name in findings], error) == result


@pytest.mark.parametrize(("evidence", "result"), [("in my.conf:1", "right"), ("in the environment", "wrong")])
def test_a_finding_must_contain_the_name_that_a_case_expects(evidence, result):
    assert judge(replace(SICK, names="my.conf"), [{"id": "killed", "evidence": evidence}], "") == result


def test_there_are_enough_cases_with_different_names():
    assert len({case.name for case in CASES}) == len(CASES)
    assert sum(bool(case.causes) for case in CASES) >= 40
    assert sum(not case.causes for case in CASES) >= 5


def test_shares_count_sick_cases_and_controls_apart():
    results = [("killed", "right"), ("killed", "silent"), ("none", "right")]
    rows = [{"expected": expected, "result": result} for expected, result in results]
    assert summarise(rows) == (
        "Cause first: 1 of 2; wrong cause first: 0; silent: 1; controls clean: 1 of 1."
    )
