"""Runs inside of a job and outside of one are not compared where the launcher waits for an allocation."""

from dataclasses import replace

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import parse_command
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError
from mpiric.model.pace import MarkKey, MarkPair
from mpiric.workflows.history import history
from mpiric.workflows.history.baseline import AgainstRequest, Baseline

SRUN, MPIEXEC = ("srun", "-n", "4", "./app"), ("mpiexec", "-n", "4", "./app")
THEN = Baseline("lj.toml", Configuration(), (1.0,), (2.0,), "wall")
MARKS = (MarkPair(MarkKey("MPI_Allreduce", "app+0x1", 4, 1), 1, 9), 3.0)


def check(argv: tuple[str, ...], measured_in: str, now: str, monkeypatch, **of: object) -> None:
    monkeypatch.setattr(history, "job_around", lambda _: now)
    request = AgainstRequest(argv, "/", {}, "lj.toml")
    then = replace(THEN, measured_in=measured_in, **of)
    history._check_alike(then, parse_command(argv, "/", {}), request, LocalHost())


@pytest.mark.parametrize(("then", "now"), [("slurm job", "no job"), ("no job", "slurm job")])
def test_where_srun_waits_on_one_day_alone_the_days_are_not_compared(then, now, monkeypatch) -> None:
    with pytest.raises(MismatchError, match="allocation"):
        check(SRUN, then, now, monkeypatch)


@pytest.mark.parametrize(
    ("argv", "then", "now"),
    [
        (SRUN, "slurm job", "slurm job"),
        (SRUN, "no job", "no job"),
        (SRUN, "", "no job"),  # older recipe, without the fact
        (MPIEXEC, "slurm job", "no job"),
    ],
)
def test_runs_with_equal_starts_are_compared(argv, then, now, monkeypatch) -> None:
    check(argv, then, now, monkeypatch)


def test_times_between_marks_do_not_hold_the_start(monkeypatch) -> None:
    check(SRUN, "slurm job", "no job", monkeypatch, marks=MARKS)


def test_the_hint_names_the_job(monkeypatch) -> None:
    with pytest.raises(MismatchError) as refused:
        check(SRUN, "slurm job", "no job", monkeypatch)
    assert "--submit --against lj.toml" in refused.value.hint
