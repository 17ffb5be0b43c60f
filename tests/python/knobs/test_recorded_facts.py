"""The answer of every knob on recorded facts: a machine of tests/data under a record of four ranks.

``python -m tests.python.knobs.test_recorded_facts`` stores the answers anew.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.answers import LEAST
from tests.support.behaviours import doing
from tests.support.replay_host import ReplayHost
from tests.support.situations import BY_LABEL, situation

from mpiric.knobs import all_knobs, carriers, consider
from mpiric.machine import read_machine
from mpiric.model.knob import Skip
from mpiric.model.situation import EVERYTHING, Situation
from mpiric.profile.analyse import analyse
from mpiric.profile.behaviour import behaviour_of
from mpiric.profile.read import read_record

DATA = Path(__file__).parents[2] / "data"
ANSWERS = DATA / "knobs"
LABELS = ("mpich-5.0.2", "openmpi-4.1.4", "openmpi-5.0.11", "intelmpi-2021.19")


def recorded(label: str) -> Situation:
    """Return four ranks on one recorded node of few cores, with the record of a real run."""
    machine = read_machine(ReplayHost.load(DATA / "machines/debian12.json"), "/home/u")
    libraries = ("/x/libgomp.so.1", "/x/libopenblas.so.0", "/x/libucp.so.0", "/x/mca_io_ompio.so")
    other_libraries = tuple(library for library in BY_LABEL.values() if library.label != label)
    case = situation(
        BY_LABEL[label], ranks=4, on=machine, libraries=libraries, allowed=EVERYTHING, others=other_libraries
    )
    record = read_record(DATA / "record/v5/record.mpiric")
    shown = behaviour_of(record, analyse(record), carriers(case, ""), case.observation.wall_s)
    return replace(doing(case, shown), least_share=LEAST)


def answers(case: Situation) -> Iterator[str]:
    """Return a line for each knob: its values, prior and reason, or the reason why it is skipped."""
    for name, knob in all_knobs().items():
        answer = consider(knob, case)
        if isinstance(answer, Skip):
            yield f"{name}: skipped, {answer.reason}"
        else:
            first = f" ({', '.join(answer.first)} first)" if answer.first else ""
            values = f"{', '.join(answer.values)}{first}"
            yield f"{name}: {values}; prior {answer.prior:.2f}, share {answer.share:.2f}; {answer.because}"


@pytest.mark.parametrize("label", LABELS)
def test_every_knob_answers_as_stored(label):
    stored = (ANSWERS / f"{label}.txt").read_text(encoding="utf-8").splitlines()
    assert list(answers(recorded(label))) == stored


if __name__ == "__main__":
    ANSWERS.mkdir(exist_ok=True)
    for each_label in LABELS:
        text = "".join(f"{line}\n" for line in answers(recorded(each_label)))
        (ANSWERS / f"{each_label}.txt").write_text(text, encoding="utf-8")
