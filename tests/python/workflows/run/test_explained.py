"""`mpiric run` names the cause of a failed launch, and returns the launcher's exit status."""

import pytest

from mpiric.host.processes.foreground import ForegroundResult
from mpiric.launchers import parse_command
from mpiric.model.configuration import Configuration
from mpiric.model.job import Launch
from mpiric.workflows.run import explained
from mpiric.workflows.run.run import PreparedRun


class NoFacts:
    """Host that knows neither kills nor the space of /dev/shm."""

    def read_text(self, _):
        return None

    def space(self, _):
        return None


def run(monkeypatch, text, result):
    def run_in_foreground(*_, error_tap):
        error_tap(text.encode())
        return result

    monkeypatch.setattr(explained, "OutputTap", lambda listener, **_: listener)
    monkeypatch.setattr(explained, "run_in_foreground", run_in_foreground)
    job = parse_command("mpirun -np 5 ./a".split(), "/work", {}, dialect="openmpi4")
    sentences = []
    prepared = PreparedRun(Launch(job.argv, "/work"), Configuration(), {}, job=job)
    status = explained.run_explained(prepared, NoFacts(), sentences.append)
    assert status == result.status
    return sentences


SLOTS = "There are not enough slots available in the system to satisfy the 5"


def test_a_known_ending_is_named_with_the_command_that_cures_it(monkeypatch):
    (sentence,) = run(monkeypatch, SLOTS, ForegroundResult(1, 0.1))
    assert sentence.startswith("the launch line asks for 5 ranks")
    assert sentence.endswith(": mpirun --oversubscribe -np 5 ./a")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Error: no atoms", ForegroundResult(3, 0.1)),
        (SLOTS, ForegroundResult(0, 0.1)),
        (SLOTS, ForegroundResult(143, 0.1, was_asked_to_end=True)),
    ],
)
def test_other_runs_are_left_without_a_word(monkeypatch, text, result):
    assert run(monkeypatch, text, result) == []
