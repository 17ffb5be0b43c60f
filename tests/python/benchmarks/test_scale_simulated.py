"""The benchmark of predictions against simulated times."""

from argparse import Namespace

import pytest
from benchmarks import scale_simulated


def row(program, errors, covered=0):
    return {"program": program, "errors": errors, "covered": covered}


def test_the_summary_counts_changing_mechanisms_apart():
    rows = [row("cg", [0.01, 0.02, 0.3], 2), row("md", None), row("cached", None), row("cached", [0.5], 0)]
    summary = scale_simulated.summary_of(rows)
    assert "2 cases with one mechanism: median error 2.0%, 67% of 3 predictions inside" in summary
    assert "1 cases refused. Mechanism changes between the sizes: 1 of 2 cases refused." in summary


@pytest.mark.requires("smpicc", "smpirun")
@pytest.mark.timeout(300)
def test_a_simulated_solver_is_faster_on_more_ranks(monkeypatch, tmp_path):
    monkeypatch.setattr(scale_simulated, "RESULTS", tmp_path)
    monkeypatch.setattr(scale_simulated, "_MEASURED", (2, 4, 8))
    monkeypatch.setattr(scale_simulated, "_PREDICTED", (16,))
    monkeypatch.setattr("benchmarks._kept_rows.RESULTS", tmp_path)
    arguments = Namespace(quick=True, program=["heat3d"], resume=False, time_limit="60s", largest=16)
    (fast, fabric) = scale_simulated.measure(arguments).rows
    assert fast["network"] == "fast"
    assert 4 < fabric["speedup"] <= 8
    assert fast["speedup"] < fabric["speedup"]
