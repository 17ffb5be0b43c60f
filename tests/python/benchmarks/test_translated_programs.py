"""Verdicts of the benchmark of translated programs on intervals."""

import pytest
from benchmarks._statistics import Ratio
from benchmarks.translated_programs import verdict_of


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.995, 1.008, "shown to be the same"),
        (0.98, 1.03, "no difference shown"),
        (1.0, 1.02, "no difference shown"),
        (1.012, 1.05, "slower"),
        (0.9, 0.98, "faster"),
        (0.0, float("inf"), "no difference shown"),
    ],
)
def test_a_difference_is_one_whose_whole_interval_is_beyond_one_percent(low, high, word):
    assert verdict_of(Ratio(1.0, low, high)) == word
