import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.replay_host import ReplayHost

from mpiric.model.errors import MpiricError
from mpiric.tuning.exploration import Side, begun_fields
from mpiric.workflows.run import explore_series
from mpiric.workflows.run.explore_series import (
    beginning_job,
    digest_of_inputs,
    ledger_in,
    open_ledger,
    settle,
)

HERE = ReplayHost.load(Path(__file__).parents[3] / "data/machines/debian12.json")


def begin_job(directory, block=1):
    return beginning_job(block, Side.RECIPE, "inputs", directory, HERE)


def test_two_jobs_at_once_write_one_after_the_other(tmp_path):
    held, released = threading.Event(), threading.Event()

    def hold():
        with open_ledger(tmp_path / "a", mark="x") as log:
            held.set()
            released.wait(5)
            log.append("began", begun_fields(begin_job(tmp_path, 1)))

    other = threading.Thread(target=hold)
    other.start()
    held.wait(5)
    threading.Timer(0.2, released.set).start()
    with open_ledger(tmp_path / "a", mark="x") as log:
        log.append("began", begun_fields(begin_job(tmp_path, 2)))
    other.join()
    assert [job.block for job in ledger_in(tmp_path / "a").jobs] == [1, 2]


def test_a_ledger_that_stays_locked_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(explore_series, "_PATIENCE_S", 0.2)
    with (
        open_ledger(tmp_path / "a"),
        pytest.raises(MpiricError, match="another mpiric works on"),
        open_ledger(tmp_path / "a"),
    ):
        pass


def test_jobs_without_a_process_are_settled_and_running_ones_are_not(tmp_path):
    alive, ended = begin_job(tmp_path / "a"), begin_job(tmp_path / "a")
    ended = type(ended)(**{**vars(ended), "process": (os.getpid(), 1.0)})  # the number was given away again
    with open_ledger(tmp_path / "a") as log:
        for job in (alive, ended):
            log.append("began", begun_fields(job))
        settle(log, HERE)
    ends = {job.job: job.end for job in ledger_in(tmp_path / "a").jobs}
    assert ends[alive.job] is None
    assert (ends[ended.job].status, ends[ended.job].end_requested, ends[ended.job].pace) == (None, True, None)


def test_inputs_are_identified_by_their_content(tmp_path):
    job = SimpleNamespace(working_directory=str(tmp_path), argv=("srun", "app", "in.lj"), stdin="")
    (tmp_path / "in.lj").write_text("run 100\n")
    before = digest_of_inputs(job)
    (tmp_path / "in.lj").touch()
    assert digest_of_inputs(job) == before
    (tmp_path / "in.lj").write_text("run 101\n")
    assert digest_of_inputs(job) != before


def test_inputs_that_no_word_names_are_known_from_the_recipe(tmp_path):
    job = SimpleNamespace(working_directory=str(tmp_path), argv=("srun", "app"), stdin="")
    (tmp_path / "hpcg.dat").write_text("16 16 16\n")
    before = digest_of_inputs(job, ("hpcg.dat", "gone.dat"))
    assert digest_of_inputs(job) != before
    (tmp_path / "hpcg.dat").write_text("32 32 32\n")
    assert digest_of_inputs(job, ("hpcg.dat", "gone.dat")) != before
