"""Judgement of the cost of a tune."""

from typing import Any

import pytest
from benchmarks.long_programs import judged


def tuned(**changed: Any) -> dict[str, Any]:
    split = {"start_s": [0.3, 0.1], "per_mark_s": [0.02, 0.02], "ratio_main": 1.0}
    split |= {"ratio_main_interval": [0.98, 1.02], "ratio_start": 3.0, "ratio_start_interval": [2.0, None]}
    result = {"runs": 30, "scope": "steps", "verdict": "no difference shown", "ratio": 1.0}
    return {
        **result,
        "ratio_interval": [0.9, 1.1],
        "interrupted": False,
        "changes": [],
        "split": split,
        **changed,
    }


@pytest.mark.parametrize(
    ("whole_s", "took_s", "right"),
    [(3600.0, 480.0, True), (3600.0, 560.0, False), (46.0, 32.0, True), (70.0, 110.0, False)],
)
def test_a_tune_is_right_if_it_keeps_its_budget_and_costs_few_whole_runs(whole_s, took_s, right) -> None:
    budget_s = 30.0 if took_s < 100 else 100.0 if took_s < 200 else 480.0
    assert judged(tuned(), whole_s, budget_s, took_s)["right"] is right


def test_the_cost_is_compared_with_whole_runs_and_an_interrupted_tune_has_none() -> None:
    row = judged(tuned(), 3600.0, 480.0, 450.0)
    assert (row["of_a_run"], row["fewer"], row["main"]) == (0.125, 240.0, [1.0, 0.98, 1.02])
    assert row["start"] == [3.0, 2.0, None]
    assert judged(tuned(interrupted=True, split=None), 3600.0, 480.0, 450.0)["right"] is False
