"""Order of doctor's findings: causes before their effects."""

from dataclasses import replace

import pytest

from mpiric.model.errors import Finding
from mpiric.model.profile import Advice
from mpiric.report._pages import effects_in_words
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
        id, effect_of = "collectives-move-data", ("more-ranks-than-cpus", "ranks-share-a-cpu")

    monkeypatch.setattr("mpiric.workflows.profile.doctor.rules", lambda: (Rule,))


def diagnosis(*of_run, of_placement=(), of_settings=(), of_machine=()):
    return Diagnosis(None, of_run, of_placement, of_settings, of_machine)  # type: ignore[arg-type]


def test_a_cause_in_the_placement_comes_before_its_effects_in_the_run():
    findings = diagnosis(COLLECTIVES, of_placement=(CROWDED,), of_machine=(OF_MACHINE,)).findings
    assert list(findings) == ["oversubscribed", "collectives-move-data", "slow-governor"]
    sentences = effects_in_words(findings.values())
    assert sentences == {"collectives-move-data": "an effect of this: 4 ranks share 2 CPUs"}


def test_the_name_of_a_variable_keeps_its_capitals_in_an_effect():
    crowded = replace(CROWDED, says="OMP_PROC_BIND=true binds several ranks to the same cores.")
    sentences = effects_in_words(diagnosis(COLLECTIVES, of_placement=(crowded,)).findings.values())
    assert sentences["collectives-move-data"].startswith("an effect of this: OMP_PROC_BIND=true")


def test_what_the_record_shows_as_well_is_reported_once():
    findings = diagnosis(BY_RECORD, COLLECTIVES, of_placement=(CROWDED,)).findings
    assert list(findings) == ["more-ranks-than-cpus", "collectives-move-data"]


OVERLAP, IDLE = (
    Finding("ranks-overlap", "Ranks are bound to one core", "", ""),
    Finding("idle-cores", "", "", ""),
)


@pytest.mark.parametrize(
    ("of_placement", "expected"),
    [
        ((OVERLAP, IDLE), ["ranks-overlap", "collectives-move-data", "idle-cores"]),
        ((OVERLAP,), ["more-ranks-than-cpus", "ranks-overlap", "collectives-move-data"]),
    ],
)
def test_ranks_on_one_core_are_not_too_many_ranks_if_other_cores_are_free(of_placement, expected):
    findings = diagnosis(BY_RECORD, COLLECTIVES, of_placement=of_placement).findings
    assert list(findings) == expected


@pytest.mark.parametrize(
    ("of_record", "of_placement"),
    [("ranks-share-a-cpu", OVERLAP), ("cpus-taken", Finding("jobs-overlap", "Two jobs", "", ""))],
)
def test_the_placement_names_the_cause_where_it_knows_more(of_record, of_placement):
    advice = replace(
        weighing(of_record, 0.4), knobs=("binding",), commands=("mpiric run --set binding=core",)
    )
    (item,) = diagnosis(advice, of_placement=(of_placement,)).findings.values()
    assert (item.finding, item.gain_share, item.commands) == (of_placement, 0.4, ())


def test_a_missed_default_is_reported_if_the_run_calls_for_its_knob():
    missed = Finding("default-waiting", "ranks spin", "", "")
    assert list(diagnosis(COLLECTIVES, of_settings=(missed,)).findings) == ["collectives-move-data"]
    advised = replace(COLLECTIVES, knobs=("waiting",))
    assert list(diagnosis(advised, of_settings=(missed,)).findings)[-1] == "default-waiting"


def weighing(name, gain):
    return replace(COLLECTIVES, finding=Finding(name, name, "", ""), gain_share=gain)


def test_findings_without_a_number_rank_by_their_source():
    diagnosed = diagnosis(
        weighing("large", 0.5), weighing("small", 0.02), of_placement=(CROWDED,), of_machine=(OF_MACHINE,)
    )
    assert list(diagnosed.findings) == ["large", "oversubscribed", "small", "slow-governor"]


def test_threads_that_share_a_core_weigh_more_than_other_places_of_ranks():
    stacked, unbound = (Finding(name, name, "", "") for name in ("threads-stacked", "unbound-ranks"))
    diagnosed = diagnosis(weighing("start-up", 0.3), of_placement=(unbound, stacked))
    assert list(diagnosed.findings) == ["threads-stacked", "start-up", "unbound-ranks"]


def test_five_findings_are_shown_first():
    diagnosed = diagnosis(*(weighing(f"number-{at}", 0.5) for at in range(7)))
    assert len(diagnosed.findings) == 7
    assert len(diagnosed.first) == 5


def test_the_cause_of_a_failure_is_shown_alone_and_reported_first():
    ending = replace(weighing("killed", 0.0), explains_run=True)
    diagnosed = replace(diagnosis(weighing("large", 0.5)), ending=ending)
    assert list(diagnosed.findings) == ["killed", "large"]
    assert diagnosed.first == (ending,)
