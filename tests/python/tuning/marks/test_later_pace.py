from dataclasses import replace

import pytest
from tests.support.paces import key, key_pace, run_pace, steps

from mpiric.model.pace import MarkPair
from mpiric.tuning.mark_split import against_forecast, per_mark_s, step_change

PAIR = MarkPair(key("MPI_Allreduce", "lmp+0x48f2", ranks=4), 100, 200)


def pace(*at_s: float):
    return key_pace(PAIR.key, list(at_s))


def test_steps_with_constant_pace_match_the_forecast() -> None:
    sentence = against_forecast(key_pace(PAIR.key, steps(1000, 0.05, 0.05)), PAIR, 0.05)
    assert "took the forecast time (0.05 s each)" in sentence


def test_growing_steps_are_reported_with_their_growth() -> None:
    grown = [0.05 * n for n in range(1, 201)] + [10 + 0.1 * n for n in range(1, 801)]
    sentence = against_forecast(key_pace(PAIR.key, grown), PAIR, 0.05)
    assert "took 2.0" in sentence
    assert "instead of 0.05 s" in sentence


def test_no_message_if_a_run_ended_with_its_proved_steps() -> None:
    assert against_forecast(key_pace(PAIR.key, steps(205, 0.05, 0.05)), PAIR, 0.05) == ""
    assert against_forecast(None, PAIR, 0.05) == ""


def test_the_time_of_a_mark_is_that_between_two_calls() -> None:
    assert per_mark_s(key_pace(PAIR.key, steps(1000, 0.05, 0.05)), 100, 300) == pytest.approx(0.05)


def test_two_runs_are_compared_by_the_steps_that_both_made() -> None:
    short = run_pace({PAIR.key: steps(400, 0.05, 1.0)}, 21.0)
    long = run_pace({PAIR.key: [*steps(400, 0.04, 5.0), *steps(400, 0.4, 21.0)]}, 181.0)
    assert step_change(short, long) == (pytest.approx(0.05), pytest.approx(0.04))


def test_steps_of_a_rebuilt_program_are_compared_without_their_places() -> None:
    rebuilt = replace(PAIR.key, place="lmp+0x5000")
    before, after = (
        run_pace({PAIR.key: steps(400, 0.05, 1.0)}, 21.0),
        run_pace({rebuilt: steps(400, 0.04, 1.0)}, 17.0),
    )
    assert step_change(before, after) == (pytest.approx(0.05), pytest.approx(0.04))


def test_runs_that_count_nothing_in_common_are_not_compared() -> None:
    paced = run_pace({PAIR.key: steps(400, 0.05, 1.0)}, 21.0)
    assert step_change(paced, run_pace({key("MPI_Bcast"): steps(400, 0.05, 1.0)}, 21.0)) is None
    assert step_change(run_pace({}, 21.0), paced) is None
