"""Rows of the field benchmark, and its table of programs."""

import os
import re
import time
from pathlib import Path

import pytest
from benchmarks.field.bounded import run_bounded
from benchmarks.field.measure import Run, answer_of, gain, rejected_for_output, row_of, wrong_answers
from benchmarks.field.programs import INPUTS, PACKAGES, PROGRAMS
from benchmarks.field.sources import SOURCES

from mpiric.model.errors import MpiricError

TUNED = {
    "scope": "whole run",
    "verdict": "faster",
    "ratio": 1.5,
    "changes": [{"knob": "node-transport", "value": "shared-memory-only"}],
    "best_so_far": None,
    "rejected": [{"reason": "clearly slower than the best; stopped early"}],
    "not_reached": [],
    "notes": [],
}


def runs(*walls, answer=1.0):
    return [Run(wall, answer) for wall in walls]


def row(**changed):
    measured = {"baseline": runs(3.0, 3.3), "expert": runs(2.0, 2.2), "tuned": runs(2.0, 2.2)}
    return row_of(PROGRAMS[0], "openmpi-4.1.4", "60s", {**TUNED, **changed}, 55.0, measured)


def test_an_answer_as_good_as_the_expert_s_reaches_its_gain():
    result = row()
    assert (result["hand"], result["confirmed"]) == (pytest.approx(1.5), pytest.approx(1.5))
    assert [result[key] for key in ("reached", "claim_holds", "budget_kept")] == [True, True, True]
    assert (result["settings"], result["heavier"], result["right_rejected"]) == (1, 0, 0)


def test_the_start_of_a_long_program_does_not_count():
    measured = {"baseline": runs(3.0, 3.0), "expert": runs(2.0, 2.0), "tuned": runs(2.5, 2.5)}
    fewer = {"baseline": runs(2.0), "expert": runs(1.0), "tuned": runs(2.0)}
    result = row_of(PROGRAMS[0], "openmpi-4.1.4", "3m", TUNED, 55.0, measured, shorter=fewer)
    assert (result["hand"], result["confirmed"]) == (pytest.approx(1.0), pytest.approx(2.0))


def test_another_library_is_heavier_than_needed_where_the_expert_gains_as_much():
    assert row(changes=[{"knob": "mpi", "value": "mpich-5.0.2"}])["heavier"] == 1


def test_a_claim_that_the_runs_do_not_confirm_does_not_hold():
    assert not row(ratio=1.7)["claim_holds"]


def test_a_setting_that_is_likely_counts_as_an_answer():
    best = {"configuration": {"binding": "core"}, "expected_ratio": 1.2}
    result = row(changes=[], best_so_far=best, verdict="likely")
    assert (result["tuned"], result["claimed"], result["proved"]) == ("binding=core (likely)", 1.2, False)


def test_only_reasons_that_name_the_output_count_as_rejected():
    reasons = ["clearly slower than the best; stopped early", "ended with exit status 1", "line 3 differs"]
    assert rejected_for_output({"rejected": [{"reason": entry} for entry in reasons]}) == ["line 3 differs"]


def test_a_number_outside_those_of_the_baseline_is_a_wrong_answer():
    measured = {"baseline": runs(1.0, 1.0), "tuned": [Run(1.0, 1.0), Run(1.0, 1.1), Run(1.0, None)]}
    assert wrong_answers(measured, 1e-6) == 2


def test_the_last_number_that_is_printed_is_the_answer():
    assert answer_of(r"energy +(\S+)", ["energy 1.0\nenergy -2.5D+01\n"]) == -25.0
    assert answer_of(r"energy +(\S+)", ["nothing"]) is None


def test_a_gain_is_inside_its_interval():
    middle, low, high = gain([3.0, 3.1, 2.9, 3.2], [2.0, 2.1, 2.0, 1.9], 0)
    assert low <= middle <= high


def test_twenty_programs_have_a_listed_origin():
    assert len(PROGRAMS) >= 20
    packages = PACKAGES.read_text().split()
    for program in PROGRAMS:
        kind, _, name = program.origin.partition(": ")
        assert name in (SOURCES if kind == "source" else packages), program.name
        assert all((INPUTS / entry).is_file() for entry in program.inputs), program.name
        assert program.by_hand.environment
        re.compile(program.answer)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path):
    command = ["bash", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid; wait"]
    begun_s = time.monotonic()
    with pytest.raises(MpiricError, match="was stopped after"):
        run_bounded(command, tmp_path, os.environ, 1.0)
    assert time.monotonic() - begun_s < 500
    child = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() - begun_s < 500
        time.sleep(0.05)


def test_a_command_gives_its_status_and_output(tmp_path):
    ended = run_bounded(["bash", "-c", "echo out; echo err >&2; exit 3"], tmp_path, os.environ, 60.0)
    assert (ended.status, ended.stdout, ended.stderr) == (3, "out\n", "err\n")
