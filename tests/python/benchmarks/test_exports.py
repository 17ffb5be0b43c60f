"""Kept claims and coverage of the benchmark of exports."""

from benchmarks._exports_cases import CASES
from benchmarks.exports import is_kept, summary_of


def test_a_claim_is_kept_within_five_percent_either_way() -> None:
    assert is_kept(1.5, 1.43)
    assert not is_kept(1.5, 1.42)
    assert is_kept(1.5, 1.57)
    assert not is_kept(1.5, 1.58)


def test_the_summary_counts_exports_without_output_separately() -> None:
    rows = [{"is_kept": True}, {"is_kept": False}, {"is_kept": None}]
    assert summary_of(rows) == "1 of 2 gain by hand what was claimed within 5%; 1 wrote nothing."


def test_every_case_has_a_description() -> None:
    assert all(case.__doc__ for case in CASES.values())
