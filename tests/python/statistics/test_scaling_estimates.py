"""Intervals, speedups and the bend of a curve."""

from math import exp, inf
from random import Random

import pytest

from mpiric.model.scaling import Interval, Size
from mpiric.statistics.scaling_estimates import bend_of, fastest_of, gain_of, interval_of, time_of


def test_the_interval_of_one_run_is_infinite():
    assert interval_of([0.0]) == Interval(1.0, 0.0, inf)


def test_the_interval_covers_the_time_in_95_percent():
    random = Random(0)
    intervals = [interval_of([random.gauss(0.0, 0.1) for _ in range(4)]) for _ in range(1000)]
    assert 0.93 < sum(i.low <= 1.0 <= i.high for i in intervals) / 1000 < 0.97


def test_drift_of_the_machine_does_not_widen_the_speedup():
    reference, times = {0: 8.0, 1: 16.0, 2: 4.0}, {0: 4.0, 1: 8.0, 2: 2.0}
    assert gain_of(reference, times) == Interval(*map(pytest.approx, (2.0, 2.0, 2.0)))
    assert time_of(times).high > 2 * time_of(times).value


def test_blocks_without_one_of_the_sizes_are_not_compared():
    assert gain_of({0: 8.0, 1: 8.0}, {1: 4.0, 2: 1.0}).value == pytest.approx(2.0)


def test_a_straight_curve_does_not_bend():
    assert bend_of([(p, 1 / p) for p in (1, 2, 4, 8)], is_weak=False) is None


def test_the_bend_is_where_a_doubling_gains_little():
    points = [(1, 8.0), (2, 4.1), (4, 2.2), (8, 2.0), (16, 1.9)]
    assert bend_of(points, is_weak=False) == (2, 3)


def test_a_small_step_is_judged_like_a_doubling():
    assert bend_of([(6, 1.0), (7, 1.0)], is_weak=False) == (0, 1)


def test_weak_scaling_bends_where_the_time_grows():
    assert bend_of([(1, 1.0), (2, 1.05), (4, 1.6)], is_weak=True) == (1, 2)


def test_of_equal_times_the_smaller_size_is_recommended():
    times = [(Size(4), Interval(1.0, 0.98, 1.02)), (Size(8), Interval(0.99, 0.97, 1.01))]
    assert fastest_of(times) == Size(4)


def test_a_faster_size_is_recommended():
    times = [(Size(4), Interval(1.0, 0.98, 1.02)), (Size(8), Interval(0.7, 0.69, 0.71))]
    assert fastest_of(times) == Size(8)


def test_time_is_a_geometric_mean():
    assert time_of({0: exp(1), 1: exp(3)}).value == pytest.approx(exp(2))
