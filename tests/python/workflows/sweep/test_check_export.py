"""The export of a sweep is measured as the library alone runs it, and slower choices are taken out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.support.situations import MPIS, situation

from mpiric.host.facts.local import LocalHost
from mpiric.lab.lab import drive
from mpiric.model.policy import LearnedKey, LearnedPolicy, Measured, Shape
from mpiric.model.run import Plan
from mpiric.statistics.sampling import Subject, SweepPoint
from mpiric.workflows.policies import export_policy
from mpiric.workflows.sweep import sweep
from mpiric.workflows.sweep.explore import LaunchResult
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import SweepPlan, SweepRequest

FOUR = Shape(4, 2, 2)
BCAST, REDUCE = Subject("bcast", FOUR), Subject("reduce", FOUR)
CHOSEN = {BCAST: "library:chain", REDUCE: "library:binomial"}
SIZES = (8, 65536)


def measured(name: str, time_s: float) -> Measured:
    return Measured(name, 9, time_s, time_s, time_s)


def learned(*subjects: Subject) -> LearnedPolicy:
    keys = tuple(
        LearnedKey(
            subject.collective, FOUR, 0, None, CHOSEN[subject], True, 0.95, 9,
            candidates=(measured("library", 4e-6), measured(CHOSEN[subject], 1e-6)),
        )
        for subject in subjects
    )  # fmt: skip
    return LearnedPolicy("openmpi", "5.0.11", FOUR, keys)


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`check(policy, times)`: ``times(collective, size, exported)`` replaces the launches."""
    mpi = next(library for library in MPIS if library.label == "openmpi-5.0.11")
    request = SweepRequest(("mpirun", "-n", "4"), "/", {}, tmp_path)
    plan = SweepPlan(
        request,
        situation(mpi),
        (0, 0, 1, 1),
        dict.fromkeys(CHOSEN, SIZES),
        dict.fromkeys(CHOSEN, ()),
    )
    log = Log(tmp_path / "sweep.jsonl", plan, resume=False)
    for subject in CHOSEN:
        for size in SIZES:
            log.add(SweepPoint(subject, size, "library"), measured("library", 4e-6))

    def run(policy: LearnedPolicy, times):
        def ask(
            _plan: object,
            points: Sequence[SweepPoint],
            _limit_s: float,
            environment: Mapping[str, str],
        ) -> Plan[LaunchResult]:
            yield from ()
            measurements = [
                (p, measured("library", times(p.subject.collective, p.size, bool(environment))))
                for p in points
            ]
            return LaunchResult(measurements)

        monkeypatch.setattr(sweep, "measure_points", ask)
        plan_of_check = sweep.check_export(plan, policy, log, LocalHost(), lambda _: None)
        return drive(plan_of_check, lambda _: pytest.fail("a run"))

    return run


def test_the_gain_is_that_of_the_exported_choices(check) -> None:
    result = check(learned(BCAST), lambda _name, _size, exported: 2e-6 if exported else 4e-6)
    assert result.gain == pytest.approx(2.0)
    assert {point.subject for point in result.gains} == {BCAST}
    assert result.withdrawn == ()


def test_exports_that_are_slower_are_left_to_the_library(check) -> None:
    def times(name: str, _size: int, exported: bool) -> float:
        return 4e-6 if not exported else 8e-6 if name == "reduce" else 2e-6

    result = check(learned(BCAST, REDUCE), times)
    assert {line.collective for line in result.policy.lines if line.candidate != "library"} == {"bcast"}
    assert result.gain == pytest.approx(2.0)
    assert result.withdrawn[0].startswith("reduce: 0.50×")


def test_where_nothing_is_faster_nothing_is_written(check, tmp_path: Path) -> None:
    policy = learned(REDUCE)
    result = check(policy, lambda _name, _size, exported: 8e-6 if exported else 4e-6)
    assert result.gain is None
    sentences = export_policy(policy, tmp_path, LocalHost(), result.policy)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "mpiric.policy",
        "openmpi-5.policy.json",
        "sweep.jsonl",
    ]
    assert "nothing to set" in sentences[-1]


def test_choices_without_a_gain_on_the_whole_are_not_exported(check) -> None:
    """Each size is within the noise of the library's own time."""
    result = check(learned(BCAST), lambda _name, _size, exported: 4.1e-6 if exported else 4e-6)
    assert result.gain is None
    assert all(line.candidate == "library" for line in result.policy.lines)
    assert "gain nothing" in result.refused


def test_disturbed_times_show_no_gain(check) -> None:
    result = check(learned(BCAST), lambda _name, _size, exported: 4e-6 if exported else 0.5)
    assert result.gain is None
    assert "disturbed" in result.withdrawn[0]
