"""Kept claims and coverage of the benchmark of exports."""

import pytest
from benchmarks._exports_cases import CASES, compare_rounds, is_kept
from benchmarks._statistics import Ratio
from benchmarks.exports import summary_of


@pytest.mark.parametrize(
    ("interval", "claim", "result"),
    [
        ((1.40, 1.43, 1.46), (1.4, 1.5, 1.6), "yes"),
        ((1.50, 1.57, 1.60), (1.4, 1.5, 1.6), "yes"),
        ((1.20, 1.25, 1.30), (1.4, 1.5, 1.6), "no"),
        ((1.75, 1.80, 1.85), (1.4, 1.5, 1.6), "no"),
        ((1.30, 1.42, 1.60), (1.5, 1.5, 1.5), "undecided"),
    ],
)
def test_a_claim_is_compared_with_the_gain_by_both_intervals(interval, claim, result) -> None:
    quotient = Ratio(interval[1] / claim[1], interval[0] / claim[2], interval[2] / claim[0])
    assert is_kept(quotient) == result


def test_rounds_are_added_until_the_spread_decides() -> None:
    noise = [0.7, 1.3, 0.7, 1.3, 0.7]
    times = [{"original": 1.2 * factor, "by hand": 1.0} for factor in (*noise, *[1.0] * 20)]
    result = compare_rounds(lambda turn: times[turn - 1], 5, Ratio(1.2, 1.2, 1.2))
    assert result["kept"] == "yes"
    assert 5 < len(result["times_s"]["original"]) < 20


def test_the_summary_counts_exports_without_output_separately() -> None:
    rows = [{"kept": result} for result in ("yes", "no", "undecided", "", "yes")]
    assert summary_of(rows).startswith("2 of 4 ")
    assert summary_of(rows).endswith("; 1 wrote nothing.")


def test_every_case_has_a_description() -> None:
    assert all(case.__doc__ for case in CASES.values())
