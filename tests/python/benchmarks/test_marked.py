"""Benchmarks of marks, for invented runs."""

import pytest
from benchmarks._mark_programs import programs
from benchmarks.explore_simulated import simulated, summary_of
from benchmarks.marks import apart
from benchmarks.windows import row_of

from mpiric.model.errors import NotFoundError
from mpiric.model.evidence import Verdict
from mpiric.model.pace import Crossing, MarkKey, MarkPair

PAIR = MarkPair(MarkKey("MPI_Allreduce", "", 2, 0), 10, 50)


def times(step_s: float, window_s: float, forecast: float = 1.0) -> tuple[float, float, float, float, float]:
    return step_s, window_s, 10 * forecast, 10.0, 0.1


def test_a_gain_of_a_half_takes_a_series_few_jobs_and_identical_sides_none_are_called() -> None:
    result, jobs = simulated("plain", "all end well", 1.5, 1)
    assert result.verdict is Verdict.FASTER
    assert jobs <= 40
    series = [simulated("drift", "die, killed, unseen, two at once", 1.0, seed)[0] for seed in range(8)]
    assert sum(explored.verdict is not Verdict.NO_DIFFERENCE for explored in series) <= 1


def test_the_summary_names_where_most_was_wrong() -> None:
    rows = [
        {"called": 0, "series": 100, "noise": "plain", "fates": "all"},
        {"called": 3, "series": 100, "noise": "drift", "fates": "all"},
    ]
    assert summary_of(rows).startswith("3 of 200 series")
    assert "3.00%, with drift" in summary_of(rows)


def test_the_largest_distance_of_any_rank_counts() -> None:
    runs = [{0: Crossing(1.0, 100, 1000), 1: Crossing(1.0, 100, 1000)}]
    runs += [{0: Crossing(1.0, 100, 1000), 1: Crossing(1.0, 98, 1000)}]
    assert apart(runs) == pytest.approx(0.02)
    assert apart([*runs, {0: Crossing(1.0, 100, 1000)}]) is None


def test_a_window_that_shows_the_ratio_of_all_steps_is_right() -> None:
    row = row_of(PAIR, [times(0.06, 0.06)] * 7, [times(0.04, 0.0402)] * 7)
    assert (row["right"], row["good"], row["all_steps"]) == (True, True, 1.5)


def test_a_window_of_other_work_and_its_forecast_are_wrong() -> None:
    row = row_of(PAIR, [times(0.06, 0.06, 1.2)] * 7, [times(0.04, 0.06, 1.2)] * 7)
    assert (row["right"], row["good"]) == (False, False)


def test_without_checkouts_a_program_names_the_missing_one() -> None:
    (lulesh,) = programs(None, ["LULESH"])
    with pytest.raises(NotFoundError, match="no checkout of LULESH, which --sources would name"):
        lulesh.command(None)  # type: ignore[arg-type]
