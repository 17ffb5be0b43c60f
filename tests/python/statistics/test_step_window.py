from math import exp
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.paces import key, key_pace

from mpiric.statistics.step_window import choose_window

BUDGET_S = 600.0


def run(
    seed: int, length_of, *, count: int = 2000, noise: float = 0.02, factor: float = 1.0, start_s: float = 0.5
):
    """Times of the steps of one run; ``length_of(part)`` of each by how far the run has come."""
    random = Random(seed)
    at_s, times = start_s, []
    for number in range(count):
        times.append(at_s)
        at_s += factor * length_of(number / count) * random.lognormvariate(0, noise)
    return key_pace(key(), times)


def steady(_: float) -> float:
    return 0.01


def test_the_window_of_steady_steps_begins_early_and_lasts_a_second_at_least():
    window = choose_window([run(seed, steady) for seed in range(3)], BUDGET_S)
    assert window.first_s < 2.0
    assert 1.0 <= window.last_s - window.first_s <= BUDGET_S / 40
    assert window.per_mark_s == pytest.approx(0.01, rel=0.05)
    assert window.growth == 0.0


def test_a_transient_that_all_runs_have_is_left_out():
    runs = [run(seed, lambda part: 0.02 if part < 0.2 else 0.01) for seed in range(3)]
    window = choose_window(runs, BUDGET_S)
    assert 400 <= window.first <= 600


def test_a_delay_in_a_single_run_is_not_a_transient():
    runs = [
        run(seed, lambda part: 0.02 if part < 0.2 else 0.01) if seed == 0 else run(seed, steady)
        for seed in range(3)
    ]
    assert choose_window(runs, BUDGET_S).first <= 100


def test_noise_within_a_run_makes_the_window_longer_and_the_budget_bounds_it():
    quiet = choose_window([run(seed, steady, noise=0.02) for seed in range(2)], BUDGET_S)
    loud = choose_window([run(seed, steady, noise=1.5) for seed in range(2)], BUDGET_S)
    assert loud.last_s - loud.first_s > quiet.last_s - quiet.first_s
    short = choose_window([run(seed, steady, noise=1.5) for seed in range(2)], budget_s=40.0)
    assert short.last_s - short.first_s == pytest.approx(1.0, abs=0.1)


def test_runs_that_differ_as_such_make_the_window_shorter():
    alike = [run(seed, steady, noise=0.8, start_s=4.0) for seed in range(3)]
    apart = [
        run(seed, steady, noise=0.8, start_s=4.0, factor=factor) for seed, factor in enumerate((1, 1.3, 0.8))
    ]
    longest = choose_window(alike, BUDGET_S)
    assert choose_window(apart, BUDGET_S).last - longest.first < longest.last - longest.first


def test_growing_steps_are_reported_and_are_not_a_transient():
    window = choose_window([run(seed, lambda part: 0.01 * exp(0.1 * part)) for seed in range(3)], BUDGET_S)
    assert window.growth == pytest.approx(0.1, abs=0.02)
    assert window.first <= 100


def test_after_moves_the_window_and_is_refused_beyond_the_observed_run():
    runs = [run(seed, steady) for seed in range(2)]
    assert choose_window(runs, BUDGET_S, after_s=10.0).first_s >= 10.0
    assert choose_window(runs, BUDGET_S, after_s=1000.0) is None


def test_two_marks_are_too_few():
    assert choose_window([key_pace(key(), [1.0, 2.0])], BUDGET_S) is None


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 3000), st.integers(3, 3000), st.floats(1e-5, 10.0), st.floats(1.0, 1e5))
def test_the_window_is_within_the_observation_of_all_runs(count, other, each_s, budget_s):
    runs = [run(1, lambda _: each_s, count=count), run(2, lambda _: each_s, count=other)]
    window = choose_window(runs, budget_s)
    last_known = min(pace.last_timed for pace in runs)
    if window is None:
        assert last_known < 3
    else:
        assert 1 <= window.first < window.last <= last_known
        assert window.last_s > window.first_s


def test_calls_of_a_set_up_that_outnumber_those_of_the_steps_do_not_hide_their_pace():
    def pace_with_slow_end(seed: int):
        random = Random(seed)
        at_s, times = 0.5, []
        for number in range(4000):
            times.append(at_s)
            at_s += (0.0005 if number < 3600 else 0.05) * random.lognormvariate(0, 0.02)
        return key_pace(key(), times)

    window = choose_window([pace_with_slow_end(seed) for seed in range(3)], BUDGET_S)
    assert window.per_mark_s == pytest.approx(0.05, rel=0.05)
    assert window.first > 3600
    assert window.growth == 0.0
