"""Kept claims and coverage of the benchmark of exports."""

import pytest
from benchmarks._exports_cases import CASES
from benchmarks.exports import is_kept, summary_of


@pytest.mark.parametrize(
    ("by_hand", "interval", "result"),
    [
        (1.43, (1.4, 1.46), "yes"),
        (1.57, (1.5, 1.6), "yes"),
        (1.42, (1.41, 1.423), "no"),
        (1.58, (1.577, 1.6), "no"),
        (1.42, (1.3, 1.6), "undecided"),
    ],
)
def test_a_claim_is_compared_with_the_gain_and_its_interval(by_hand, interval, result) -> None:
    assert is_kept(1.5, by_hand, interval) == result


def test_the_summary_counts_exports_without_output_separately() -> None:
    rows = [{"kept": result} for result in ("yes", "no", "undecided", "", "yes")]
    assert summary_of(rows).startswith("2 of 4 ")
    assert summary_of(rows).endswith("; 1 wrote nothing.")


def test_every_case_has_a_description() -> None:
    assert all(case.__doc__ for case in CASES.values())
