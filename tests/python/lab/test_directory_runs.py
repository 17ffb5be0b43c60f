"""Runs in directories: waiting for written data at the end of a run."""

from tests.support.scripted_runner import ScriptedRunner
from tests.support.situations import MPIS, situation

from mpiric.host.isolation.working_copies import CopyPolicy, TrialDirectory, WorkingCopies
from mpiric.lab import directory_runs
from mpiric.model.configuration import Configuration
from mpiric.model.trial import Outcome, Phase, Trial


def test_what_a_stopped_run_has_under_way_is_waited_for_where_files_are_tuned(monkeypatch, tmp_path):
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
