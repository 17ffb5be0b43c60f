"""Times of the kernel's scheduler take part in no comparison of routes."""

import pytest

from mpiric.fabric import verdict
from mpiric.fabric.pairs import disturbed_times
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import PairClass, Point, Probe, Route

THERE = PairClass.OTHER_NODE
SIZES = [8, 1024, 65536]


@pytest.fixture(autouse=True)
def ticks_of_4_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "tick_s", lambda: 0.004)


def route(configuration: Configuration, *times_us: float, preempted: float = 0.0) -> Route:
    points = tuple(
        Point(size, time_us * 1.001, time_us, size / time_us, preempted)
        for size, time_us in zip(SIZES, times_us, strict=True)
    )
    return Route(configuration, (Probe(points={THERE: points}),), pair_classes=(THERE,))


FAST = Configuration.of({"network-interface": "fast0"})


def test_a_route_is_not_better_because_the_librarys_own_times_are_slices() -> None:
    default_route, other = route(Configuration(), 8000, 8010, 8020), route(FAST, 20, 30, 700)
    assert verdict.best_route([default_route, other], [THERE], 1.05) is None
    assert verdict.winners([default_route, other], THERE) == ()
    (finding,) = disturbed_times([default_route, other])
    assert finding.id == "disturbed-times"


def test_a_route_whose_every_batch_was_preempted_is_not_compared() -> None:
    default_route = route(Configuration(), 100, 200, 2000)
    assert verdict.best_route([default_route, route(FAST, 20, 30, 700)], [THERE], 1.05)
    assert verdict.best_route([default_route, route(FAST, 20, 30, 700, preempted=1.0)], [THERE], 1.05) is None
    assert verdict.best_route([default_route, route(FAST, 20, 30, 700, preempted=0.5)], [THERE], 1.05)
