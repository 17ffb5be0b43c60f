"""Lines that show the progress of a tune."""

import io

import pytest
from rich.console import Console

from mpiric.cli._terminal import Progress
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial

TUNED = Configuration.of({"malloc": "keep-memory"})


@pytest.mark.parametrize(("configuration", "other"), [(Configuration(), "tuned"), (TUNED, "original")])
def test_a_run_that_a_proof_stops_is_no_failure(configuration, other):
    trial = Trial(configuration, Phase.PROOF, Outcome.TIMED_OUT, 0.62, reason="did not end", at_least=0.62)
    stream = io.StringIO()
    Progress(Console(file=stream, width=200)).trial(trial, None, 10.0)
    line = stream.getvalue()
    assert f"> 0.62 s (stopped at 2x the {other} run)" in line
    assert "timed out" not in line


def test_a_run_that_fails_in_a_proof_is_shown_as_a_failure():
    trial = Trial(TUNED, Phase.PROOF, Outcome.TIMED_OUT, 60.0, reason="did not end within 60 s")
    stream = io.StringIO()
    Progress(Console(file=stream, width=200)).trial(trial, None, 10.0)
    assert "did not end within 60 s" in stream.getvalue()
