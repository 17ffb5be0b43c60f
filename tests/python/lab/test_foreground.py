"""Runs of the user's own: how the launch ended becomes the outcome of a trial."""

import pytest

from mpiric.host.processes.foreground import ForegroundResult
from mpiric.lab import foreground
from mpiric.lab.directory_runs import Recorder
from mpiric.lab.foreground import Foreground
from mpiric.lab.probes import WholeRun
from mpiric.model.configuration import Configuration
from mpiric.model.job import Launch
from mpiric.model.run import Outcome, Phase, Run


@pytest.mark.parametrize(
    ("ran", "outcome"),
    [
        (ForegroundResult(0, 2.0), Outcome.OK),
        (ForegroundResult(3, 2.0), Outcome.FAILED),
        (ForegroundResult(143, 2.0, was_ended=True), Outcome.TIMED_OUT),
        (ForegroundResult(0, 2.0, was_asked_to_end=True), Outcome.INTERRUPTED),
        (ForegroundResult(143, 2.0, was_ended=True, was_asked_to_end=True), Outcome.TIMED_OUT),
    ],
)
def test_the_end_of_a_launch_is_the_outcome_and_the_status_stays_the_programs(ran, outcome, monkeypatch):
    monkeypatch.setattr(foreground, "run_in_foreground", lambda *_, **__: ran)
    lab = Foreground(lambda *_: Launch(("app",), "/"), {})
    trial = lab.measure(Run(Configuration(), Phase.RECORD))
    assert (trial.outcome, trial.exit_status, trial.wall_s) == (outcome, ran.status, 2.0)


def test_the_probe_determines_the_additions_to_the_launch(tmp_path, monkeypatch):
    carried = []
    monkeypatch.setattr(foreground, "run_in_foreground", lambda *_, **__: ForegroundResult(0, 1.0))
    lab = Foreground(lambda _, spelling: carried.append(spelling) or Launch(("app",), "/"), {})
    (tmp_path / "kept").touch()
    lab.measure(
        Run(Configuration(), Phase.RECORD, probe=WholeRun(Recorder("lib.so"), tmp_path, keeps_files=True))
    )
    lab.measure(Run(Configuration(), Phase.RECORD))
    assert carried[0].directories == {"MPIRIC_RECORD_DIR": str(tmp_path)}
    assert carried[1] is None
    assert (tmp_path / "kept").exists()
