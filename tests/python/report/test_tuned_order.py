"""The order of a result: the speedup and its command first, the settings that were not tried last."""

import re
from dataclasses import replace

from tests.python.report.test_tuned import EVIDENCE, FASTER, text

from mpiric.model.evidence import Verdict
from mpiric.model.tuned import CannotMatter
from mpiric.report.tuned_html import tuned_html


def test_a_result_starts_with_speedup_interval_and_command_and_ends_with_what_was_not_tried() -> None:
    notes = ("not tried without --allow-rounding: reduce-algorithm", "a note")
    needless = (CannotMatter("bcast-algorithm", "the collective is not called"),)
    tuned = replace(FASTER, notes=notes, not_reached=("mpi",), cannot_matter=needless)
    lines = [line for line in text(tuned).splitlines() if line]
    assert lines[0].startswith("1.50× [1.40, 1.60]")
    assert lines[1:3] == ["The same without mpiric", "  A='1 2' mpiexec -bind-to core ./app"]
    assert lines[-3] == "Not tried"
    page = tuned_html(tuned, (), "1")
    sections = re.findall(r'<section id="([a-z-]+)">', page)
    assert sections[:2] == ["result", "command"]
    assert sections[-2:] == ["needless", "not-tried"]
    assert page.count("reduce-algorithm") == 1


def test_an_unproved_candidate_is_not_a_headline() -> None:
    slower = replace(EVIDENCE, verdict=Verdict.UNDECIDED, ratio=0.57, pairs=((1.0, 1.75),))
    result = replace(FASTER, evidence=slower, changes=(), recipe="")
    headline = text(result).strip().splitlines()[0]
    assert "no faster configuration was found" in headline
    assert "0.57" not in headline
    assert "0.57" not in tuned_html(result, (), "1")
