"""Time before MPI_Init and after MPI_Finalize is reported with its cause."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.support.records import cell, rank, record
from tests.support.situations import machine, situation

from mpiric.host.facts.local import own_name_s
from mpiric.model.errors import Finding
from mpiric.model.profile import Advice
from mpiric.profile.analyse import analyse
from mpiric.profile.outside_time import (
    RunParts,
    hosts_line,
    outside_advice,
    outside_of,
    run_parts,
    with_outside,
)
from mpiric.report.json_objects import advice_json
from mpiric.workflows.profile import doctor
from mpiric.workflows.trials import recorded_runs

LINE = "10.0.0.1 n1"
LATE = RunParts(before_s=30.0, init_s=0.1, main_s=0.001, after_s=0.2, before_cpu_s=0.1)


def quickly() -> float:
    return 0.001


def says(parts: RunParts, name_s=quickly) -> str:
    advice = outside_advice(parts, LINE, name_s)
    return advice.finding.says if advice else ""


def test_a_slow_resolution_of_the_own_name_is_the_cause():
    advice = outside_advice(LATE, LINE, lambda: 3.0)
    assert advice.finding.says.startswith("The name of this host is resolved slowly, in 3 s:")
    assert advice.finding.fix.startswith("add the line '10.0.0.1 n1' to /etc/hosts")
    assert advice.gain_share > 0.9


def test_a_resolution_without_an_end_is_a_lower_bound():
    assert "at least 5.01 s" in says(LATE, lambda: 5.01)


def test_a_slow_resolution_is_not_the_cause_of_a_start_that_computes_or_is_shorter():
    assert says(replace(LATE, before_cpu_s=28.0), lambda: 3.0).startswith("The program works")
    assert says(replace(LATE, before_s=2.0, after_s=0.0), lambda: 5.0).startswith("Ranks reach MPI_Init late")


def test_every_part_is_in_the_evidence():
    evidence = outside_advice(LATE, LINE, quickly).finding.evidence
    assert evidence.startswith("launch to MPI_Init 30 s (a rank computes 100 ms), MPI_Init 100 ms,")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (LATE, "Ranks reach MPI_Init late"),
        (replace(LATE, before_cpu_s=28.0, interpreter="Python"), "Python works for long before MPI_Init"),
        (replace(LATE, before_cpu_s=28.0), "The program works for long before MPI_Init"),
        (replace(LATE, after_s=40.0), "The command goes on for long after MPI_Finalize"),
    ],
)
def test_the_cause_of_the_larger_part_is_named(parts, expected):
    assert says(parts).startswith(expected)


@pytest.mark.parametrize(
    "parts",
    [
        replace(LATE, before_s=0.05, init_s=0.01, main_s=0.0, after_s=0.0),
        replace(LATE, before_s=3.0, main_s=300.0),
    ],
)
def test_a_short_time_or_a_small_share_is_no_finding_and_nothing_is_measured(parts):
    def measured() -> float:
        raise AssertionError

    assert outside_advice(parts, LINE, measured) is None


def test_a_long_mpi_init_is_left_to_its_own_rule_unless_the_name_is_slow():
    parts = replace(LATE, before_s=0.1, init_s=30.0)
    assert says(parts) == ""
    assert says(parts, lambda: 4.0).startswith("The name of this host")


def test_a_slow_name_in_a_short_start_is_worth_its_share():
    parts = RunParts(before_s=0.6, init_s=0.3, main_s=2.0, after_s=0.0, before_cpu_s=0.05)
    assert says(parts) == ""
    advice = outside_advice(parts, LINE, lambda: 0.2)
    assert advice.finding.says.startswith("The name of this host is resolved slowly, in 200 ms")
    assert advice.gain_share == pytest.approx(0.9 / 2.9)


def test_the_line_for_the_hosts_file_has_the_address_of_the_best_network():
    assert hosts_line(machine()) == "10.0.0.1 n1"
    assert hosts_line(replace(machine(), nics=())) == "127.0.1.1 n1"


def test_the_start_is_split_into_launcher_program_and_library():
    numbers = replace(LATE, before_cpu_s=28.0).numbers
    starts = {"launcher_start_s": 2.0, "program_start_s": 28.0, "library_start_s": 0.1}
    assert numbers == {**starts, "launcher_end_s": pytest.approx(LATE.after_s)}


def test_parts_of_a_run_add_up_to_its_time():
    facts = {"host": "n1", "executable": "/usr/bin/python3.11", "before.user_us": "1500000"}
    late = rank(0, 1.0, cell("MPI_Init", 1, 0, 0.5), begin_unix_s=102.5, facts=facts)
    early = rank(1, 1.0, cell("MPI_Init", 1, 0, 1.5), begin_unix_s=102.5, facts={"host": "n1"})
    parts = run_parts(record(late, early), "n1", 100.0, 4.0)
    assert (parts.before_s, parts.init_s, parts.main_s, parts.after_s) == (2.0, 0.5, 1.0, 0.5)
    assert (parts.before_cpu_s, parts.interpreter) == (1.5, "Python")


def test_ranks_of_other_nodes_have_other_clocks():
    assert run_parts(record(rank(0, 1.0)), "another", 0.0, 1.0) is None


def test_a_clock_that_was_set_during_the_run_gives_no_parts():
    assert run_parts(record(rank(0, 1.0, begin_unix_s=99.0)), "n1", 100.0, 2.0) is None


def test_a_recorded_run_of_a_tune_has_its_time_outside():
    late_record = record(rank(0, 1.0, begin_unix_s=130.0, facts={"host": "n1"}))
    assert "late" in outside_of(late_record, machine(), 32.0, 132.0).finding.says
    assert outside_of(late_record, machine(), 32.0, 0.0) is None


def test_a_report_of_a_record_keeps_the_finding(monkeypatch, tmp_path):
    advice = outside_advice(LATE, LINE, quickly)
    report = {"findings": [advice_json(advice)], "numbers": LATE.numbers}
    (tmp_path / "report.json").write_text(json.dumps(report))
    monkeypatch.setattr(recorded_runs, "read_record", lambda _: record(rank(0, 1.0)))
    assert recorded_runs.load(tmp_path).advice[0] == advice


def test_time_outside_is_reported_before_findings_that_promise_less():
    other = Advice(Finding("other", "", "", ""), 0.3, 0.1, "", (), (), "")
    outside = outside_advice(LATE, LINE, quickly)
    assert with_outside((other,), outside) == (outside, other)


def test_the_name_of_this_host_is_resolved():
    assert own_name_s() > 0.0


def test_a_run_of_a_millisecond_has_no_advice_by_rates():
    facts = {"host": "n1", "affinity": "0-1", "switches.involuntary": "5"}
    short, long = (analyse(record(*(rank(n, s, facts=facts) for n in (0, 1)))) for s in (0.001, 0.2))
    assert "unbound-ranks" not in {item.finding.id for item in short.advice}
    assert "unbound-ranks" in {item.finding.id for item in long.advice}


@pytest.mark.parametrize(("wall_s", "rate"), [(0.001, 0.0), (2.0, 500.0)])
def test_doctor_derives_no_rates_from_a_run_of_a_millisecond(monkeypatch, wall_s, rate):
    monkeypatch.setattr(doctor, "libraries_of_program", lambda *_: ())
    recorded = record(rank(0, wall_s, facts={"faults.minor": "1000"}))
    done = SimpleNamespace(record=recorded, prepared=SimpleNamespace(parsed=None))
    updated = doctor._with_recorded_ranks(situation(), done, None)
    assert updated.observation.minor_faults_per_s == rate
