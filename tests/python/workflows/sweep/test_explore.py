"""Candidates that fail are given up, one at a time and for good; the budget holds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.support.situations import MPIS, situation

from mpiric.host.facts.local import LocalHost
from mpiric.lab.lab import drive
from mpiric.model.errors import MpiricError, NoRoomError, ProgramFailedError
from mpiric.model.policy import Measured, Shape
from mpiric.model.run import Plan, Run, Trial
from mpiric.statistics.sampling import Subject, SweepPoint
from mpiric.workflows.sweep import explore as sweep_explore
from mpiric.workflows.sweep import explore as sweep_launch
from mpiric.workflows.sweep import sweep
from mpiric.workflows.sweep.estimate import Costs
from mpiric.workflows.sweep.explore import LaunchResult, Measurer, launches, measure
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import LaunchFailedError, SweepPlan, SweepRequest

FOUR = Shape(4, 2, 2)
BCAST, REDUCE = Subject("bcast", FOUR), Subject("reduce", FOUR)
NAMES = {BCAST: ("library", "library:ring"), REDUCE: ("library", "library:tree")}
HUNG = LaunchFailedError("mpiexec failed: no answer", (), "no answer within 9 s", timed_out=True)


def prepared(directory: Path, **of: object) -> SweepPlan:
    mpi = next(library for library in MPIS if library.label == "mpich-5.0.2")
    request = SweepRequest(("mpiexec", "-n", "4"), "/", {}, directory)
    sizes = {BCAST: (8, 64), REDUCE: (8, 64)}
    return replace(SweepPlan(request, situation(mpi), (0, 0, 1, 1), sizes, NAMES), **of)


def silent(_: str) -> None:
    pass


def no_run(run: Run) -> Trial:
    raise AssertionError(run)


def explored(plan: SweepPlan, log: Log) -> None:
    drive(Measurer(plan, log).explore(), no_run)


@dataclass
class Launches:
    """Fake launches: at the chosen point, `bad` of them fail."""

    bad: Sequence[str] = ()
    failure: ProgramFailedError = HUNG
    wrong: Sequence[str] = ()
    fast: float = 0.5
    launched: list[list[SweepPoint]] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    works: bool = True

    def ask(self, _prepared: object, points: Sequence[SweepPoint], limit_s: float) -> Plan[LaunchResult]:
        yield from ()
        self.launched.append(list(points))
        self.limits.append(limit_s)
        answer = LaunchResult()
        for point in points:
            name = f"{point.subject.collective} {point.candidate}"
            if name in self.bad and point.size == 64:
                answer.failure = self.failure
                return answer
            if name in self.wrong:
                answer.wrong[point] = "the result was wrong on 2 ranks"
                continue
            at = 1e-3 * (1.0 if point.candidate == "library" else self.fast)
            answer.times.append((point, Measured(point.candidate, 9, at, at, at)))
        return answer

    def check(self, *_: object) -> Plan[None]:
        yield from ()
        if not self.works:
            raise MpiricError("the launch line fails now")


@pytest.fixture
def scripted_launches(monkeypatch: pytest.MonkeyPatch) -> Launches:
    launches = Launches()
    monkeypatch.setattr(sweep_explore, "measure_points", launches.ask)
    monkeypatch.setattr(sweep_explore, "check_launching", launches.check)
    return launches


def log_of(directory: Path, *, resume: bool = False) -> Log:
    return Log(directory / "sweep.jsonl", prepared(directory), resume=resume)


def test_of_the_candidates_in_a_launch_that_hangs_only_the_one_that_was_at_work_is_excluded(
    scripted_launches: Launches, tmp_path: Path
) -> None:
    scripted_launches.bad = ("bcast library:ring",)
    log = log_of(tmp_path)
    explored(prepared(tmp_path), log)
    assert log.excluded == {
        "bcast library:ring": "failed at 64 bytes on 4 ranks on 2 nodes: no answer within 9 s"
    }
    assert {(p.subject, p.size) for p in log.measured if p.candidate == "library:tree"} == {
        (REDUCE, 8),
        (REDUCE, 64),
    }
    assert not [p for p in log.measured if p.candidate == "library:ring"], "it hangs at other sizes"


def test_a_resumed_sweep_does_not_retry_excluded_candidates(
    scripted_launches: Launches, tmp_path: Path
) -> None:
    scripted_launches.bad = ("bcast library:ring",)
    first = sweep.sweep(prepared(tmp_path), LocalHost(), silent)
    assert list(first.failed) == ["bcast library:ring"]
    assert any("--resume" in sentence for sentence in first.sentences)
    scripted_launches.launched.clear()
    (tmp_path / "sweep.jsonl").write_text(
        "".join(
            line + "\n"
            for line in (tmp_path / "sweep.jsonl").read_text().splitlines()
            if '"library:tree"' not in line
        )
    )
    again = prepared(tmp_path)
    again = replace(again, request=replace(again.request, resume=True))
    second = sweep.sweep(again, LocalHost(), silent)
    assert second.failed == first.failed
    assert {point.candidate for points in scripted_launches.launched for point in points} <= {
        "library",
        "library:tree",
    }
    assert {(key.collective, key.candidate) for key in second.learned.keys} == {
        ("bcast", "library"),
        ("reduce", "library:tree"),
    }


def test_a_candidate_that_hangs_while_it_is_confirmed_is_not_chosen(
    scripted_launches: Launches, tmp_path: Path
) -> None:
    log = log_of(tmp_path)
    explored(prepared(tmp_path), log)
    scripted_launches.bad = ("reduce library:tree",)
    drive(Measurer(prepared(tmp_path), log).confirm(), no_run)
    assert list(log.excluded) == ["reduce library:tree"]
    assert {point.candidate for point in log.fresh if point.subject == REDUCE} == {"library"}
    assert {point.candidate for point in log.fresh if point.subject == BCAST} == {"library", "library:ring"}


def test_wrong_results_are_excluded(scripted_launches: Launches, tmp_path: Path) -> None:
    scripted_launches.wrong = ("reduce library:tree",)
    log = log_of(tmp_path)
    explored(prepared(tmp_path), log)
    assert log.excluded == {"reduce library:tree": "the result was wrong on 2 ranks"}


def test_no_candidate_is_excluded_when_all_launches_fail(scripted_launches: Launches, tmp_path: Path) -> None:
    scripted_launches.bad, scripted_launches.works = ("bcast library:ring",), False
    log = log_of(tmp_path)
    with pytest.raises(MpiricError, match="the launch line fails now"):
        explored(prepared(tmp_path), log)
    assert log_of(tmp_path, resume=True).excluded == {}


def test_the_library_that_fails_by_itself_ends_the_sweep(scripted_launches: Launches, tmp_path: Path) -> None:
    scripted_launches.bad = ("bcast library",)
    with pytest.raises(ProgramFailedError):
        explored(prepared(tmp_path), log_of(tmp_path))


def test_a_full_disk_does_not_exclude_a_candidate(
    scripted_launches: Launches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(tmp_path)

    def full(*_: object) -> Plan[LaunchResult]:
        yield from ()
        raise NoRoomError("cannot write the policy")

    monkeypatch.setattr(sweep_explore, "measure_points", full)
    with pytest.raises(NoRoomError):
        explored(prepared(tmp_path), log)
    assert log_of(tmp_path, resume=True).excluded == {}


def test_a_candidate_that_the_budget_cuts_short_is_not_excluded(
    scripted_launches: Launches, tmp_path: Path
) -> None:
    log = log_of(tmp_path)
    scripted_launches.bad = ("bcast library",)
    within = prepared(tmp_path)
    within = replace(within, request=replace(within.request, budget_s=0.2))
    measurer = measure(within, LocalHost(), log, silent, silent)
    assert max(scripted_launches.limits) < 11
    assert (log.excluded, measurer.points > 0) == ({}, True)


def test_blocking_forms_share_no_launch_with_others_but_for_the_library_alone() -> None:
    starting = Subject("iallreduce", FOUR)
    blocking = Subject("allreduce", FOUR)
    points = [SweepPoint(s, 8, name) for s in (starting, blocking) for name in ("library", "library:nb")]
    costs = Costs(prepared(Path("/")), {})
    assert [
        [(p.subject.collective, p.candidate) for p in of_launch] for of_launch in launches(points, costs)
    ] == [
        [("allreduce", "library"), ("iallreduce", "library")],
        [("allreduce", "library:nb")],
        [("iallreduce", "library:nb")],
    ]


def test_a_launch_that_would_take_long_is_cut() -> None:
    points = [SweepPoint(BCAST, size, name) for name in NAMES[BCAST] for size in (8, 64)]
    default_times = {SweepPoint(BCAST, 8, "library"): Measured("library", 9, 2.0, 2.0, 2.0)}
    assert len(list(launches(points, Costs(prepared(Path("/")), default_times)))) == 4
    assert len(list(launches(points, Costs(prepared(Path("/")), {})))) == 2


def test_a_failed_launch_returns_the_rows_before_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"collective": "bcast", "ranks": 4, "per_node": 2, "bytes": 8, "calls": 9}
    times = {"median_s": 2e-6, "low_s": 1e-6, "high_s": 3e-6}

    def ends(*_: object) -> Plan[list[dict[str, object]]]:
        yield from ()
        rows = ({**row, **times, "wrong": 0}, {**row, **times, "bytes": 64, "wrong": 3})
        raise LaunchFailedError("killed", rows, "killed")

    monkeypatch.setattr(sweep_launch, "run_launch", ends)
    monkeypatch.setattr(sweep_launch, "native_part", lambda name, _: name)
    first, second = (SweepPoint(BCAST, size, "library:binomial") for size in (8, 64))
    third = SweepPoint(REDUCE, 8, "library:binomial")
    answer = drive(sweep_launch.measure_points(prepared(tmp_path), [first, second, third], 9), no_run)
    assert answer.times == [(first, Measured("library:binomial", 9, 2e-6, 1e-6, 3e-6))]
    assert list(answer.wrong) == [second]
    assert [answer.is_missing(point) for point in (first, second, third)] == [False, False, True]
    assert answer.failure is not None
