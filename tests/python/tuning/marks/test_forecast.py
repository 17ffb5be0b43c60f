import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiric.model.trial import Split
from mpiric.tuning.marks.forecast import forecast_s, gain_of_longer, marks_of

seconds = st.floats(1e-3, 1e3)


@given(seconds, seconds, seconds, st.integers(1, 10**6))
def test_a_forecast_and_its_marks_are_each_others_inverse(start_s, per_mark_s, end_s, marks):
    split = Split(start_s, per_mark_s=per_mark_s, end_s=end_s)
    assert marks_of(split, forecast_s(split, marks)) == pytest.approx(marks, rel=1e-3, abs=1e-3)


def test_a_gain_of_start_up_fades_with_the_length_of_the_run():
    original, tuned = Split(0.34, main_s=0.5, end_s=0.0), Split(0.12, main_s=0.5, end_s=0.0)
    gains = [gain_of_longer(original, tuned, times) for times in (1, 10, 100)]
    assert gains == [pytest.approx(0.84 / 0.62), pytest.approx(5.34 / 5.12), pytest.approx(50.34 / 50.12)]
