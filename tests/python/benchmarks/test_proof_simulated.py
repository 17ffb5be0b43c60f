"""Errors and costs of simulated proofs, in rows."""

from argparse import Namespace

from benchmarks.proof_simulated import measure, summary_of
from tests.support.noise import NOISES


def test_every_claim_is_tested_with_every_noise_and_costs_are_compared() -> None:
    result = measure(Namespace(proofs=2, quick=False))
    errors = [row for row in result.rows if "wrong" in row]
    costs = [row for row in result.rows if "wrong" not in row]
    assert len(errors) == 6 * len(NOISES)
    assert {row["what"] for row in errors if row["stopped"]} == {
        row["what"] for row in errors if row["what"].endswith("stopped")
    }
    assert all(row["runs"] >= row["runs_whole"] for row in costs)
    assert all(row["idle"] == 0 for row in costs)


def test_the_worst_kind_is_named() -> None:
    rows = [
        {"what": "verdict", "noise": noise, "wrong": wrong, "proofs": 100}
        for noise, wrong in (("drifting", 0), ("bursting", 3))
    ]
    summary = summary_of(rows)
    assert "3 of 200 proofs claim something wrong (1.50%, goal at most 1%)" in summary
    assert "3.00%, with bursting noise: verdict" in summary
