import os
from pathlib import Path

import pytest
from tests.support.situations import MPIS, situation

from mpiric.model.errors import MismatchError, NoRoomError
from mpiric.model.policy import Measured, Shape
from mpiric.statistics.sampling import Subject, SweepPoint
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import SweepPlan, SweepRequest

SUBJECT = Subject("bcast", Shape(4, 2, 2))
FIRST, SECOND = (SweepPoint(SUBJECT, size, "library") for size in (8, 64))
TIMES = Measured("library", 100, 2e-6, 1e-6, 3e-6)


def prepared(directory: Path, ranks: int = 4) -> SweepPlan:
    mpi = next(library for library in MPIS if library.label == "mpich-5.0.2")
    request = SweepRequest(("mpiexec", "-n", str(ranks)), "/", {}, directory)
    return SweepPlan(
        request, situation(mpi), (0, 0, 1, 1)[:ranks], {SUBJECT: (8, 64)}, {SUBJECT: ("library",)}
    )


def test_a_sweep_goes_on_with_all_that_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    log = Log(path, prepared(tmp_path), resume=False)
    log.add(FIRST, TIMES)
    log.add(SECOND, TIMES, fresh=True)
    again = Log(path, prepared(tmp_path), resume=True)
    assert (again.measured, again.fresh) == ({FIRST: TIMES}, {SECOND: TIMES})
    assert Log(path, prepared(tmp_path), resume=False).measured == {}


@pytest.mark.parametrize("lost", [1, 2, 30])
def test_a_line_that_was_cut_off_is_measured_again(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "sweep.jsonl"
    log = Log(path, prepared(tmp_path), resume=False)
    log.add(FIRST, TIMES)
    log.add(SECOND, TIMES)
    path.write_text(path.read_text(encoding="utf-8")[:-lost], encoding="utf-8")
    cut = Log(path, prepared(tmp_path), resume=True)
    assert cut.measured == {FIRST: TIMES}
    cut.add(SECOND, TIMES)
    assert Log(path, prepared(tmp_path), resume=True).measured == {FIRST: TIMES, SECOND: TIMES}


def test_measurements_of_another_job_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    Log(path, prepared(tmp_path), resume=False)
    with pytest.raises(MismatchError, match="another sweep"):
        Log(path, prepared(tmp_path, ranks=2), resume=True)


def test_a_full_disk_is_reported_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sweep.jsonl"
    log = Log(path, prepared(tmp_path), resume=False)
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr("mpiric.workflows.sweep.log.open_own", lambda *_: full)
    with pytest.raises(NoRoomError, match=r"sweep\.jsonl: No space left") as raised:
        log.add(FIRST, TIMES)
    assert "--resume" in raised.value.hint


def test_an_excluded_candidate_stays_so_and_nothing_of_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    log = Log(path, prepared(tmp_path), resume=False)
    log.add(FIRST, TIMES)
    log.add(FIRST, TIMES, fresh=True)
    log.exclude("bcast", "library", "it hung")
    log.add(SECOND, TIMES)
    for opened in (log, Log(path, prepared(tmp_path), resume=True)):
        assert (opened.measured, opened.fresh, opened.excluded) == ({}, {}, {"bcast library": "it hung"})
    assert Log(path, prepared(tmp_path), resume=False).excluded == {}


def test_a_log_with_the_names_of_earlier_versions_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    log = Log(path, prepared(tmp_path), resume=False)
    log.add(FIRST, TIMES)
    log.exclude("bcast", "own:a", "it hung")
    new = path.read_text()
    old = new.replace('"placement"', '"place"').replace('"excluded"', '"given_up"')
    assert old != new
    path.write_text(old)
    again = Log(path, prepared(tmp_path), resume=True)
    assert (again.measured, again.excluded) == (log.measured, log.excluded)
