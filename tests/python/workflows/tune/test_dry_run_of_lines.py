"""`tune --dry-run` of the collected launch lines on a machine with four MPI libraries."""

import shlex
from dataclasses import replace

import pytest
from tests.python.launchers.test_collected_lines import LAUNCHED
from tests.support.situations import BY_LABEL, situation

from mpiric.launchers import parse_command
from mpiric.workflows.tune import tune
from mpiric.workflows.tune.state import TuneRequest

LIBRARIES = {
    "openmpi4": BY_LABEL["openmpi-4.1.4"],
    "openmpi5": BY_LABEL["openmpi-5.0.11"],
    "hydra": BY_LABEL["mpich-5.0.2"],
    "intelmpi": BY_LABEL["intelmpi-2021.19"],
}
LINES = [(dialect, line) for dialect, _, _, line in LAUNCHED if dialect in LIBRARIES]


def dry_run(monkeypatch, dialect, line):
    library, request = LIBRARIES[dialect], TuneRequest(tuple(shlex.split(line)), "/work", {})
    job = parse_command(request.argv, "/work", {}, dialect=dialect)
    case = replace(situation(library, others=tuple(LIBRARIES.values())), job=job)
    monkeypatch.setattr(tune, "parse_request", lambda *_: None)
    monkeypatch.setattr(tune, "expected_situation", lambda *_: case)
    return tune.dry_run(request, None)


@pytest.mark.parametrize(("dialect", "line"), LINES)
def test_only_another_library_can_be_refused(monkeypatch, dialect, line):
    first, *tries = dry_run(monkeypatch, dialect, line)
    assert first == f"as it is: {shlex.join(shlex.split(line))}"
    assert tries
    assert all(text.startswith("mpi=") for text in tries if "not tried: " in text)


def test_most_lines_are_tried_under_another_library(monkeypatch):
    texts = [text for case in LINES for text in dry_run(monkeypatch, *case) if text.startswith("mpi=")]
    refused = [text for text in texts if "not tried: " in text]
    assert len(refused) <= len(texts) / 4
