"""Runs in directories: waiting for written data at the end of a run."""

from tests.support.scripted_runner import ScriptedRunner
from tests.support.situations import MPIS, situation

from mpiric.host.isolation.working_copies import CopyPolicy, TrialDirectory, WorkingCopies
from mpiric.lab import directory_runs
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial


def test_pending_writes_of_a_stopped_run_are_awaited_when_tuning_files(monkeypatch, tmp_path):
    waited: list[object] = []
    monkeypatch.setattr(directory_runs, "make_durable", lambda *arguments, **_: waited.append(arguments))
    runs = directory_runs.DirectoryRuns(ScriptedRunner(), WorkingCopies(tmp_path, tmp_path, CopyPolicy()))
    stopped, directory = (
        Trial(Configuration(), Phase.SEARCH, Outcome.TIMED_OUT, 1.0),
        TrialDirectory(tmp_path, {}),
    )
    for tunes_files in (False, True):
        assert runs.make_durable(stopped, situation(MPIS[0]), directory, read_back=tunes_files) is stopped
        assert len(waited) == tunes_files
