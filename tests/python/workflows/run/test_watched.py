"""Watched runs: the known cause of a failure is kept."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import parse_command
from mpiric.model.configuration import Configuration
from mpiric.model.job import Launch
from mpiric.workflows.run import watched


@pytest.fixture
def cause_of(monkeypatch, tmp_path):
    """Return the cause of the failure of a shell script in a watched run."""
    job = parse_command(["./a"], str(tmp_path), {}, dialect="direct")
    situation = SimpleNamespace(job=job, nodes=1)
    applied = SimpleNamespace(situation=situation, path=Path(tmp_path, "a.recipe.toml"))
    prepared = SimpleNamespace(applied=applied, environment={"PATH": "/usr/bin:/bin"})

    def run(script: str) -> str:
        launch = Launch(("sh", "-c", script), str(tmp_path))
        monkeypatch.setattr(watched, "render", lambda *_: launch)
        done = watched.run_watched(Configuration(), prepared, None, tmp_path / "marks", LocalHost())
        return done.cause

    return run


def test_the_signal_of_a_failed_run_is_explained(cause_of):
    assert "instructions that this CPU does not have" in cause_of("kill -4 $$")


@pytest.mark.parametrize("script", ["exit 0", "exit 3"])
def test_other_runs_have_no_cause(cause_of, script):
    assert cause_of(script) == ""
