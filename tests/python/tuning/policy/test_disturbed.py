"""Times that the kernel's scheduler determined are not used in a policy."""

import pytest

from mpiric.model.policy import LIBRARY, LearnedKey, LearnedPolicy, Measured, Shape
from mpiric.statistics.sampling import Subject, SweepPoint, learned_keys
from mpiric.tuning.policy_files import disturbed_points, undisturbed
from mpiric.tuning.policy_merge import condense

TICK_S = 0.004
FOUR = Shape(4, 4, 1)
BCAST = Subject("bcast", FOUR)
SIZES = (8, 1024, 65536)


def times(name: str, time_s: float, preempted: float = 0.0) -> Measured:
    return Measured(name, 9, time_s, time_s * 0.9999, time_s * 1.0001, preempted=preempted)


def measured(own_s: float, ring_s: float, **of: float) -> dict[SweepPoint, Measured]:
    both = ((LIBRARY, own_s), ("library:ring", ring_s))
    return {
        SweepPoint(BCAST, size, name): times(name, time_s * (1 + at / 1000), **of)
        for at, size in enumerate(SIZES)
        for name, time_s in both
    }


def test_two_slices_are_not_93_times_slower_than_a_message() -> None:
    winner = measured(0.008, 85e-6)
    disturbed = disturbed_points(winner, TICK_S)
    assert {point.candidate for point in disturbed} == {LIBRARY}
    keys = learned_keys(winner, {BCAST: SIZES}, (), disturbed)
    assert [(key.candidate, key.decided) for key in keys] == [(LIBRARY, False)] * 3


def test_a_candidate_with_disturbed_times_is_not_chosen() -> None:
    winner = measured(0.0091, 0.004)
    keys = learned_keys(winner, {BCAST: SIZES}, (), disturbed_points(winner, TICK_S))
    assert {key.candidate for key in keys} == {LIBRARY}


def test_candidates_preempted_in_most_batches_are_not_ranked() -> None:
    assert len(disturbed_points(measured(90e-6, 30e-6, preempted=0.6), TICK_S)) == 6
    assert disturbed_points(measured(90e-6, 30e-6, preempted=0.4), TICK_S) == {}


@pytest.mark.parametrize(("own_s", "chosen"), [(0.008, LIBRARY), (0.0001, "library:ring")])
def test_a_policy_learned_by_disturbed_times_chooses_nothing(own_s: float, chosen: str) -> None:
    candidates = (times(LIBRARY, own_s), times("library:ring", 50e-6))
    key = LearnedKey("bcast", FOUR, 0, None, "library:ring", True, 0.95, 9, candidates=candidates)
    policy = condense(undisturbed(LearnedPolicy("openmpi", "5.0.11", FOUR, (key,)), TICK_S))
    assert {line.candidate for line in policy.lines} <= {chosen}
