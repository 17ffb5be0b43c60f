"""Directories of runs that an interrupted tune did not note: the resumed tune makes them anew."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from mpiric.lab.probes import BetweenMarkers, FileTime, WholeRun


@pytest.fixture
def used_directory(tmp_path: Path) -> Path:
    """A run's directory with a file of the run that was lost."""
    directory = tmp_path / "records/original-1"
    directory.mkdir(parents=True)
    (directory / "rank-0.host.1.part").write_text("of the lost run")
    return directory


CARRIER = SimpleNamespace(spelling=lambda _directory: "spelled")


@pytest.mark.parametrize(
    "probe_of",
    [
        lambda directory: WholeRun(CARRIER, directory),
        lambda directory: FileTime(CARRIER, directory),
        lambda directory: BetweenMarkers(directory=directory),
    ],
    ids=["recorded", "files", "markers"],
)
def test_a_run_with_a_record_or_markers_starts_with_an_empty_directory(used_directory, probe_of):
    assert probe_of(used_directory).spelling()
    assert list(used_directory.iterdir()) == []
