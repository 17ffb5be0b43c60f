"""Directories of runs that an interrupted tune did not note: the resumed tune makes them anew."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from mpiric.model.configuration import Configuration
from mpiric.workflows.trials.arming import ArmedRun
from mpiric.workflows.trials.file_times import FileRun
from mpiric.workflows.trials.run_recorded import run_recorded


@pytest.fixture
def used_directory(tmp_path: Path) -> Path:
    """A run's directory with a file of the run that was lost."""
    directory = tmp_path / "records/original-1"
    directory.mkdir(parents=True)
    (directory / "rank-0.host.1.part").write_text("of the lost run")
    return directory


CARRIER = SimpleNamespace(spelling=lambda _directory: "spelled")


def test_a_recorded_run_starts_with_an_empty_directory(used_directory):
    def run(*_arguments, carried, early_end):
        assert (carried, early_end) == ("spelled", None)
        return SimpleNamespace(trial=list(used_directory.iterdir()))

    assert run_recorded(SimpleNamespace(run=run), None, Configuration(), CARRIER, used_directory) == []


@pytest.mark.parametrize(
    "run_of",
    [
        lambda directory: ArmedRun(CARRIER, directory),
        lambda directory: FileRun(CARRIER, directory),
    ],
)
def test_a_run_with_marks_or_a_record_starts_with_an_empty_directory(used_directory, run_of):
    assert run_of(used_directory).spelling() == "spelled"
    assert list(used_directory.iterdir()) == []
