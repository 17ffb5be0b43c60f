"""Order of doctor's findings: causes before their effects."""

from dataclasses import replace

import pytest

from mpiric.model.finding import Finding
from mpiric.model.profile import Advice
from mpiric.report._amounts import effects_in_words
from mpiric.workflows.profile.doctor import Diagnosis

CROWDED = Finding("oversubscribed", "4 ranks share 2 CPUs", "", "")
COLLECTIVES = Advice(
    Finding("collectives-move-data", "Collectives take time", "", ""), 0.9, None, "", (), (), ""
)
BY_RECORD = replace(COLLECTIVES, finding=Finding("more-ranks-than-cpus", "There are more ranks", "", ""))
OF_MACHINE = Finding("slow-governor", "The clock is low", "", "")


@pytest.fixture(autouse=True)
def rules(monkeypatch):
    """A rule: crowded nodes make collectives slow."""

    class Rule:
        id, effect_of = "collectives-move-data", ("more-ranks-than-cpus",)

    monkeypatch.setattr("mpiric.workflows.profile.doctor.rules", lambda: (Rule,))


def diagnosis(*of_run, of_placement=(), of_settings=(), of_machine=()):
    return Diagnosis(None, of_run, of_placement, of_settings, of_machine)  # type: ignore[arg-type]


def test_a_cause_in_the_placement_comes_before_its_effects_in_the_run():
    findings = diagnosis(COLLECTIVES, of_placement=(CROWDED,), of_machine=(OF_MACHINE,)).findings
    assert list(findings) == ["oversubscribed", "collectives-move-data", "slow-governor"]
    sentences = effects_in_words(findings.values())
    assert sentences == {"collectives-move-data": "an effect of this: 4 ranks share 2 CPUs"}


def test_what_the_record_shows_as_well_is_reported_once():
    findings = diagnosis(BY_RECORD, COLLECTIVES, of_placement=(CROWDED,)).findings
    assert list(findings) == ["more-ranks-than-cpus", "collectives-move-data"]


def test_a_missed_default_is_reported_if_the_run_calls_for_its_knob():
    missed = Finding("default-waiting", "ranks spin", "", "")
    assert list(diagnosis(COLLECTIVES, of_settings=(missed,)).findings) == ["collectives-move-data"]
    advised = replace(COLLECTIVES, knobs=("waiting",))
    assert list(diagnosis(advised, of_settings=(missed,)).findings)[-1] == "default-waiting"
