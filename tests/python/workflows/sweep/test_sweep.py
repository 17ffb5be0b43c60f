"""A sweep without an MPI: decided points, and admitted candidates."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.situations import MPIS, situation

from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import MpiricError, NoRoomError
from mpiric.model.policy import COLLECTIVES, LearnedKey, LearnedPolicy, Measured, Shape
from mpiric.model.run import Plan
from mpiric.statistics.sampling import Subject, SweepPoint
from mpiric.tuning.policy_files import read_learned
from mpiric.tuning.store import Lock
from mpiric.workflows.policies import of_library
from mpiric.workflows.submit.array_rounds import ArrayRound
from mpiric.workflows.sweep import explore as sweep_explore
from mpiric.workflows.sweep import plan as sweep_plan
from mpiric.workflows.sweep import sweep
from mpiric.workflows.sweep.explore import LaunchResult
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import COLLECTIVES as SWEPT
from mpiric.workflows.sweep.plan import GROUPS, NONBLOCKING, USUAL, SweepPlan, SweepRequest, calls_of

FOUR = Shape(4, 2, 2)
BCAST, REDUCE = Subject("bcast", FOUR), Subject("reduce", FOUR)
NAMES = {BCAST: ("library", "own:good"), REDUCE: ("library", "own:bad")}


def prepared(directory: Path, **of: object) -> SweepPlan:
    mpi = next(library for library in MPIS if library.label == "mpich-5.0.2")
    request = SweepRequest(("mpiexec", "-n", "4"), "/", {}, directory)
    sizes = {BCAST: (8, 64), REDUCE: (8, 64)}
    return replace(SweepPlan(request, situation(mpi), (0, 0, 1, 1), sizes, NAMES), **of)


def times(point: SweepPoint) -> Measured:
    at = 1e-6 if point.candidate.startswith("own:") else 2e-6
    return Measured(point.candidate, 10, at, at, at)


def silent(_: str) -> None:
    pass


def answers(_prepared: object, points: Sequence[SweepPoint], _limit_s: float) -> Plan[LaunchResult]:
    yield from ()
    return LaunchResult([(point, times(point)) for point in points])


def test_gains_that_an_interrupted_sweep_has_not_confirmed_are_left_open(tmp_path: Path, monkeypatch) -> None:
    def interrupted(*_: object) -> Plan[None]:
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep_explore, "measure_points", answers)
    with monkeypatch.context() as once:
        once.setattr(sweep_explore.Measurer, "confirm", interrupted)
        result = sweep.sweep(prepared(tmp_path), LocalHost(), silent)
    assert {(key.candidate, key.decided) for key in result.learned.keys} == {("library", False)}
    again = prepared(tmp_path)
    again = replace(again, request=replace(again.request, resume=True))
    result = sweep.sweep(again, LocalHost(), silent)
    assert {(key.candidate, key.decided) for key in result.learned.keys} == {
        ("own:good", True),
        ("own:bad", True),
    }


def test_two_sweeps_do_not_share_a_directory(tmp_path: Path) -> None:
    log = Log(tmp_path / "sweep.jsonl", prepared(tmp_path), resume=False)
    log.add(SweepPoint(BCAST, 8, "library"), times(SweepPoint(BCAST, 8, "library")))
    held = Lock.take(tmp_path / "sweep.lock")
    with pytest.raises(MpiricError, match="another mpiric works"):
        sweep.sweep(prepared(tmp_path), LocalHost(), silent)
    held.release()
    assert len(Log(tmp_path / "sweep.jsonl", prepared(tmp_path), resume=True).measured) == 1


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NoRoomError, match="cannot make"):
        sweep.sweep(prepared(tmp_path / "file" / "out"), LocalHost(), silent)


def test_sizes_of_a_record_are_those_of_a_policy(monkeypatch) -> None:
    cells = [
        SimpleNamespace(function=name, communicator=0, size_bin=14)
        for name in (
            "MPI_Alltoall",
            "MPI_Allreduce_c",
            "MPI_Reduce_scatter",
            "MPI_Ialltoallv",
            "MPI_Gatherv",
            "MPI_Send",
        )
    ]
    rank = SimpleNamespace(cells=cells, communicators=[SimpleNamespace(size=8)])
    monkeypatch.setattr(sweep_plan, "read_record", lambda _: SimpleNamespace(ranks=[rank]))
    assert calls_of(Path("record")) == {
        ("alltoall", 8): {1024, 2048},  # a record has the blocks for all ranks together
        ("allreduce", 8): {8192, 16384},
        ("reduce_scatter", 8): {1024, 2048},
        ("ialltoallv", 8): {1024, 2048},
        ("gatherv", 8): {8192, 16384},
    }


def test_jobs_of_an_array_tell_each_other_what_they_gave_up(tmp_path: Path) -> None:
    array_round = ArrayRound(tmp_path, 1)
    array_round.plan([()] * 2)
    point = SweepPoint(BCAST, 8, "own:good")
    first, second = (
        Log(array_round.directory(at) / "sweep.jsonl", prepared(tmp_path), resume=False) for at in (0, 1)
    )
    first.add(point, times(point))
    second.exclude("bcast", "own:good", "it hung")
    for _ in range(2):
        sweep._collect(prepared(tmp_path), array_round)
        main = Log(tmp_path / "sweep.jsonl", prepared(tmp_path), resume=True)
        assert (main.measured, main.excluded) == ({}, {"bcast own:good": "it hung"})


@pytest.mark.parametrize(
    ("collective", "sizes"),
    [
        ("bcast", (4, 1 << 20, 1 << 26)),
        ("alltoall", (4, 1 << 20)),  # 64 MiB in 64 blocks
        ("alltoallv", (4, 1 << 20)),
        ("ibarrier", (0,)),
    ],
)
def test_blocks_of_all_ranks_together_fit_into_memory(collective: str, sizes: tuple[int, ...]) -> None:
    subject = Subject(collective, Shape(64, 2, 32))
    assert sweep_plan.grid_sizes(subject, (4, 1 << 20, 1 << 26)) == sizes
    assert sweep_plan.grid_sizes(subject, ()) == ()


def test_sizes_covered_by_one_choice_are_few_and_known() -> None:
    subject = Subject("ialltoallv", FOUR)
    sizes = tuple(2**power for power in range(2, 23))
    assert sweep_plan.grid_sizes(subject, sizes) == (4, 128, 4096, 131072, 1 << 22)
    assert len(sweep_plan.grid_sizes(subject, {0})) > 2


def test_every_collective_that_is_named_by_default_or_in_a_group_can_be_swept() -> None:
    assert {name for group in GROUPS.values() for name in group} == set(SWEPT)
    assert set(SWEPT) < COLLECTIVES
    assert set(USUAL) | set(NONBLOCKING) < set(SWEPT)
    mpi = prepared(Path("/")).mpi
    request = prepared(Path("/")).request
    assert all(len(sweep_plan._names(mpi, name, request)) > 1 for name in SWEPT)


def test_each_mpi_of_a_site_has_files_of_its_own(tmp_path: Path) -> None:
    measured = (Measured("library", 9, 2e-6, 2e-6, 2e-6), Measured("library:chain", 9, 1e-6, 1e-6, 1e-6))
    key = LearnedKey("bcast", FOUR, 0, None, "library:chain", True, 0.9, 9, candidates=measured)
    for version in ("4.1.4", "5.0.11"):
        learned = LearnedPolicy("openmpi", version, FOUR, (key,))
        sweep.for_site(learned, of_library(learned), tmp_path / "site", LocalHost())
    for name, version in (("openmpi-4", "4.1.4"), ("openmpi-5", "5.0.11")):
        assert read_learned(tmp_path / f"site/{name}.policy.json").version == version
        assert f"site/{name}/coll_tuned.rules" in (tmp_path / f"site/{name}/collectives.sh").read_text()
        assert (tmp_path / f"site/{name}/coll_tuned.rules").stat().st_mode & 0o444 == 0o444
