"""Estimated cost of a sweep, compared with the work of the probe."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.situations import MPIS, situation

from mpiric.model.policy import LIBRARY, Measured, Shape
from mpiric.statistics.sampling import Subject, SweepPoint
from mpiric.workflows.sweep.estimate import FAST, SLOW, Costs, cost_by_guess, cost_by_own_times, guessed_s
from mpiric.workflows.sweep.plan import SweepPlan, SweepRequest

EIGHT = Shape(8, 4, 2)
BCAST, ALLTOALL = Subject("bcast", EIGHT), Subject("alltoall", EIGHT)
SIZES = (8, 1024, 131072)


def prepared(**of: object) -> SweepPlan:
    mpi = next(library for library in MPIS if library.label == "mpich-5.0.2")
    request = SweepRequest(("mpiexec", "-n", "8"), "/", {}, Path("/nowhere"))
    nodes = (0, 0, 1, 1, 2, 2, 3, 3)
    sizes = {BCAST: SIZES}
    return replace(SweepPlan(request, situation(mpi), nodes, sizes, {BCAST: (LIBRARY, "library:ring")}), **of)


def library_time(call_s: float, size: int) -> tuple[SweepPoint, Measured]:
    return SweepPoint(BCAST, size, LIBRARY), Measured(LIBRARY, 9, call_s, call_s, call_s)


def calls_of_the_probe(call_s: float, seconds: float, first: int) -> int:
    """Calls as the probe counts them: warming up, one looked at, two timed, then the batches."""
    batches = 3 if call_s > seconds else 11
    return first + 1 + 2 + batches * min(max(int(seconds / batches / call_s), 1), 2000)


@pytest.mark.parametrize("call_s", [1e-6, 1e-4, 4e-3, 0.01, 0.06, 2.0])
@pytest.mark.parametrize(("name", "first"), [(LIBRARY, 2), ("library:ring", 2), ("own:ring", 16)])
def test_a_point_takes_as_long_as_its_calls(call_s: float, name: str, first: int) -> None:
    costs = Costs(prepared(), dict([library_time(call_s, 8)]))
    minimum_s = call_s * calls_of_the_probe(call_s, 0.05, first)
    assert costs.point_s(SweepPoint(BCAST, 8, "own:ring" if first == 16 else name)) == pytest.approx(
        minimum_s + 2 * call_s * (13 if call_s <= 0.05 else 5)
    )


def test_slow_calls_are_not_thought_to_be_over_in_the_time_of_a_point() -> None:
    large = prepared(sizes={ALLTOALL: (1 << 20,)}, candidates={ALLTOALL: (LIBRARY,)})
    call_s = (8 << 20) / SLOW[2]
    assert guessed_s(large, *SLOW[1:]) > call_s * calls_of_the_probe(call_s, 0.05, 2)
    assert guessed_s(large, *SLOW[1:]) > 2 * guessed_s(large, *FAST[1:])


def test_between_measured_sizes_the_time_is_on_a_line() -> None:
    costs = Costs(prepared(), dict([library_time(1.0, 64), library_time(4.0, 1024)]))
    at = {size: costs.point_s(SweepPoint(BCAST, size, LIBRARY)) or 0.0 for size in (64, 256, 1024)}
    assert at[1024] - at[256] == pytest.approx(2.0 * (at[256] - at[64]))
    assert at[256] > at[64] > 0
    assert costs.point_s(SweepPoint(ALLTOALL, 8, LIBRARY)) is None


def test_times_are_known_when_both_ends_are() -> None:
    assert not Costs(prepared(), dict([library_time(1.0, 8)])).are_known
    assert Costs(prepared(), dict([library_time(1.0, 8), library_time(2.0, SIZES[-1])])).are_known


def test_patience_grows_with_the_time_of_a_launch() -> None:
    point = SweepPoint(BCAST, 8, "library:ring")
    short, long = (Costs(prepared(), dict([library_time(call_s, 8)])) for call_s in (1e-5, 5.0))
    assert short.patience_s([point]) < 130
    assert long.patience_s([point]) > 10 * (long.point_s(point) or 0)
    limited = prepared()
    limited = replace(limited, request=replace(limited.request, limit_s=7.0))
    assert Costs(limited, dict([library_time(5.0, 8)])).patience_s([point]) == 7.0


def test_an_estimate_is_a_range_first_and_has_the_budget_later() -> None:
    assert "6 points on 8 ranks" in cost_by_guess(prepared())
    measured = dict([library_time(1.0, 8), library_time(2.0, SIZES[-1])])
    within = prepared()
    within = replace(within, request=replace(within.request, budget_s=30.0))
    for plan, ends in ((prepared(), False), (within, True)):
        sentence = cost_by_own_times(plan, Costs(plan, measured), measured)
        assert "core-hours" in sentence
        assert ("--budget ends the sweep after 30 s" in sentence) == ends
