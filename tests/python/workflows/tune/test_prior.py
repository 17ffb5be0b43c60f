"""Earlier successes change the prior of a knob, more so if they are recent and frequent."""

import pytest

from mpiric.workflows.tune.space import likelihood, worth

BOTH = frozenset({"binding", "malloc"})


def tunes(count, *settings, age_days=0.0):
    return [(age_days, BOTH, frozenset(settings))] * count


def test_without_past_tunes_the_promise_stays():
    assert likelihood("malloc", 0.85, []) == 0.85


def test_tunes_that_did_not_try_a_knob_say_nothing_of_it():
    assert likelihood("waiting", 0.3, tunes(50, "malloc")) == pytest.approx(0.3)


def test_success_and_failure_in_earlier_tunes_change_the_prior():
    assert likelihood("malloc", 0.3, tunes(30, "malloc")) > 0.9
    assert likelihood("binding", 0.9, tunes(30, "malloc")) < 0.1


def test_a_few_tunes_move_a_promise_a_little():
    assert likelihood("malloc", 0.2, tunes(1, "malloc")) == pytest.approx((3 * 0.2 + 1) / 4)


def test_old_tunes_count_less_until_they_count_for_nothing():
    young, old, ancient = (
        likelihood("malloc", 0.2, tunes(3, "malloc", age_days=age)) for age in (0, 90, 9000)
    )
    assert young > old > ancient == pytest.approx(0.2)
    assert old == pytest.approx((3 * 0.2 + 1.5) / 4.5)


def test_a_clock_that_was_set_back_makes_no_tune_count_more_than_one():
    assert likelihood("malloc", 0.2, tunes(1, "malloc", age_days=-500)) == pytest.approx(0.4)


@pytest.mark.parametrize(("ceiling", "score"), [(1.0, 0.8), (0.1, 0.8), (0.05, 0.4), (0.02, 0.16)])
def test_who_can_touch_little_of_the_time_is_worth_less(ceiling, score):
    assert worth(0.8, ceiling) == pytest.approx(score)
