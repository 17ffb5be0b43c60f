"""Models of scaling: which curves are predicted, and which are refused."""

from math import log2

import pytest

from mpiric.statistics.scaling_model import NotPredictableError, Point, fit_model


def points(curve, sizes=(1, 2, 4, 8, 16)):
    return [Point(p, curve(p), 0.005) for p in sizes]


def amdahl(p):
    return 0.95 / p + 0.05


def test_amdahls_curve_is_predicted():
    prediction = fit_model(points(amdahl), is_weak=False).predict(64)
    assert prediction.value == pytest.approx(amdahl(64), rel=0.05)
    assert prediction.low < amdahl(64) < prediction.high


def test_collectives_are_a_term_of_the_formula():
    model = fit_model(points(lambda p: 1 / p + 0.02 * log2(p)), is_weak=False)
    assert "collectives·log p" in model.formula


def test_weak_scaling_is_predicted():
    prediction = fit_model(points(lambda p: 1 + 0.03 * log2(p)), is_weak=True).predict(32)
    assert prediction.value == pytest.approx(1.15, rel=0.02)


def test_the_interval_grows_with_the_distance():
    model = fit_model(points(lambda p: 1 / p + 0.01 * p**-0.3), is_weak=False)
    near, distant = model.predict(32), model.predict(128)
    assert near.high / near.low < distant.high / distant.low


def test_a_prediction_is_repeatable():
    model = fit_model(points(amdahl), is_weak=False)
    assert model.predict(32) == model.predict(32)


def test_two_sizes_are_too_few():
    with pytest.raises(NotPredictableError, match="at least 3 sizes"):
        fit_model(points(amdahl, (1, 2)), is_weak=False)


def test_a_jump_is_refused():
    with pytest.raises(NotPredictableError):
        fit_model(points(lambda p: 1 / p if p < 8 else 3 / p), is_weak=False)


def test_a_small_jump_is_named_with_its_size():
    def curve(p):
        return (1 if p < 8 else 1.08) / p

    with pytest.raises(NotPredictableError, match="the mechanism changes between the sizes"):
        fit_model(points(curve), is_weak=False)


def test_a_far_size_is_refused():
    with pytest.raises(NotPredictableError, match="more than 8 times the largest"):
        fit_model(points(amdahl), is_weak=False).predict(256)
