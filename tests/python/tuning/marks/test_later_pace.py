import pytest
from tests.support.paces import key, key_pace, steps

from mpiric.model.marks import MarkPair
from mpiric.tuning.marks.later_pace import against_forecast, per_mark_s

PAIR = MarkPair(key("MPI_Allreduce", "lmp+0x48f2", ranks=4), 100, 200)


def pace(*at_s: float):
    return key_pace(PAIR.key, list(at_s))


def test_steps_that_keep_their_pace_take_what_was_forecast() -> None:
    words = against_forecast(key_pace(PAIR.key, steps(1000, 0.05, 0.05)), PAIR, 0.05)
    assert "took what was forecast (0.05 s each)" in words


def test_steps_that_grow_are_told_with_how_much() -> None:
    grown = [0.05 * n for n in range(1, 201)] + [10 + 0.1 * n for n in range(1, 801)]
    words = against_forecast(key_pace(PAIR.key, grown), PAIR, 0.05)
    assert "took 2.0" in words
    assert "instead of 0.05 s" in words


def test_nothing_is_said_where_a_run_ended_with_its_proved_steps() -> None:
    assert against_forecast(key_pace(PAIR.key, steps(205, 0.05, 0.05)), PAIR, 0.05) == ""
    assert against_forecast(None, PAIR, 0.05) == ""


def test_the_time_of_a_mark_is_that_between_two_calls() -> None:
    assert per_mark_s(key_pace(PAIR.key, steps(1000, 0.05, 0.05)), 100, 300) == pytest.approx(0.05)
