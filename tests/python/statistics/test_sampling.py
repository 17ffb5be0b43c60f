"""The sampler against known times: it finds the crossings with a fraction of the grid."""

from collections.abc import Mapping

import pytest

from mpiric.model.policy import LIBRARY, LearnedPolicy, Measured, Policy, Shape
from mpiric.statistics.sampling import (
    Subject,
    SweepPoint,
    confirmed,
    grid_points,
    learned_keys,
    next_points,
    winners,
)
from mpiric.tuning.policy_merge import condense

EIGHT = Shape(8, 4, 2)
SUBJECT = Subject("allreduce", EIGHT)
SIZES = tuple(2**power for power in range(2, 23))
NAMES = (LIBRARY, "library:eager", "library:ring", "library:bad")


def truth(name: str, size: int) -> float:
    """Latency and bandwidth of each; eager wins up to about 3 KiB, ring from about 30 KiB on."""
    latency, per_byte = {
        LIBRARY: (10e-6, 2e-9),
        "library:eager": (5e-6, 3.6e-9),
        "library:ring": (40e-6, 1e-9),
        "library:bad": (300e-6, 9e-9),
    }[name]
    return latency + per_byte * size


def grid_of(subject: Subject) -> tuple[int, ...]:
    return (0,) if subject.collective == "barrier" else SIZES


def swept(
    subjects: tuple[Subject, ...], names: Mapping[Subject, tuple[str, ...]]
) -> dict[SweepPoint, Measured]:
    measured: dict[SweepPoint, Measured] = {}
    for _ in range(50):
        points = next_points({subject: grid_of(subject) for subject in subjects}, names, measured)
        if not points:
            return measured
        assert not set(points) & measured.keys()
        for point in points:
            at = truth(point.candidate, point.size)
            measured[point] = Measured(point.candidate, 100, at, at * 0.999, at * 1.001)
    raise AssertionError("the sampler does not come to an end")


def test_crossings_are_found_with_a_part_of_the_grid() -> None:
    names = {SUBJECT: NAMES}
    measured = swept((SUBJECT,), names)
    assert len(measured) < 0.5 * grid_points({SUBJECT: SIZES}, names)
    keys = learned_keys(measured, {SUBJECT: SIZES})
    assert (keys[0].start, keys[-1].end) == (0, None)
    chosen = condense(LearnedPolicy("mpich", "5", EIGHT, keys))
    for size in SIZES:
        best = min(truth(name, size) for name in NAMES)
        assert truth(chosen.choose("allreduce", EIGHT, size) or "", size) <= 1.04 * best


def test_a_hopeless_candidate_is_left_alone_after_the_first_pass() -> None:
    measured = swept((SUBJECT,), {SUBJECT: NAMES})
    bad = [point.size for point in measured if point.candidate == "library:bad"]
    sizes = [point.size for point in measured if point.candidate == LIBRARY]
    assert len(bad) < len(sizes)


def test_each_subject_has_sizes_of_its_own_and_all_are_measured_when_asked() -> None:
    bcast = Subject("bcast", EIGHT)
    grids = {SUBJECT: (8, 64, 512), bcast: (1024,)}
    points = next_points(grids, dict.fromkeys(grids, (LIBRARY,)), {}, stride=1)
    assert {(point.subject, point.size) for point in points} == {
        *((SUBJECT, size) for size in (8, 64, 512)),
        (bcast, 1024),
    }


def test_a_barrier_has_one_point() -> None:
    barrier = Subject("barrier", EIGHT)
    assert len(swept((barrier,), {barrier: NAMES})) == len(NAMES)


@pytest.mark.parametrize("spread", [0.02, 0.5])
def test_a_gain_within_the_noise_stays_with_the_library(spread: float) -> None:
    best = 1e-6 * (1 - spread / 4)
    measured = {
        SweepPoint(SUBJECT, size, name): Measured(name, 10, at, at * (1 - spread), at * (1 + spread))
        for size in SIZES
        for name, at in ((LIBRARY, 1e-6), ("library:ring", best))
    }
    assert {key.candidate for key in learned_keys(measured, {SUBJECT: SIZES})} == {LIBRARY}


def test_sizes_without_measurements_make_no_policy() -> None:
    assert learned_keys({}, {SUBJECT: SIZES}) == ()
    assert condense(LearnedPolicy("mpich", "5", EIGHT, ())) == Policy("mpich", "5", ())


def test_a_lucky_time_does_not_survive_its_confirmation() -> None:
    ring, default = SweepPoint(SUBJECT, 4, "library:ring"), SweepPoint(SUBJECT, 4, LIBRARY)
    bad = SweepPoint(SUBJECT, 4, "library:bad")
    lucky = {
        default: Measured(LIBRARY, 10, 4e-6, 4e-6, 4e-6),
        ring: Measured("library:ring", 10, 1e-6, 1e-6, 1e-6),
        bad: Measured("library:bad", 10, 2e-6, 2e-6, 2e-6),
    }
    assert set(winners(lucky)) == {default, ring, bad}
    fresh = {
        default: Measured(LIBRARY, 10, 4e-6, 4e-6, 4e-6),
        ring: Measured("library:ring", 10, 5e-6, 5e-6, 5e-6),
    }
    (key,) = learned_keys(confirmed(lucky, fresh), {SUBJECT: (4,)})
    assert key.candidate == LIBRARY
    assert key.time_of("library:bad") is None
    second = {**fresh, bad: Measured("library:bad", 10, 3e-6, 3e-6, 3e-6)}
    (key,) = learned_keys(confirmed(lucky, second), {SUBJECT: (4,)})
    assert key.candidate == "library:bad"


def test_the_three_best_may_try_again() -> None:
    times = {LIBRARY: 9e-6, "library:a": 8.9e-6, **{f"own:{n}": n * 1e-6 for n in range(1, 6)}}
    measured = {SweepPoint(SUBJECT, 4, name): Measured(name, 10, at, at, at) for name, at in times.items()}
    assert {point.candidate for point in winners(measured)} == {LIBRARY, "own:1", "own:2", "own:3"}


def test_a_gain_that_was_not_confirmed_is_left_open() -> None:
    times = {
        SweepPoint(SUBJECT, size, name): Measured(name, 10, at, at, at)
        for size in (4, 64, 1024)
        for name, at in ((LIBRARY, 4e-6), ("library:ring", 1e-6 if size < 1024 else 9e-6))
    }
    doubtful = winners({point: measured_time for point, measured_time in times.items() if point.size == 4})
    keys = learned_keys(times, {SUBJECT: (4, 16, 64, 1024)}, doubtful)
    assert [(key.candidate, key.decided) for key in keys] == [
        (LIBRARY, False),
        (LIBRARY, False),
        ("library:ring", True),
        (LIBRARY, True),
    ]
    lines = condense(LearnedPolicy("mpich", "5", EIGHT, keys)).lines
    assert [(line.start, line.candidate) for line in lines] == [(64, "library:ring"), (1024, LIBRARY)]


ALLTOALLV = Subject("alltoallv", EIGHT)
BLOCKS = (4, 1024, 65536)


def uneven(**times: tuple[float, float, float]) -> dict[SweepPoint, Measured]:
    """Times of each candidate at the three sizes, in µs."""
    return {
        SweepPoint(ALLTOALLV, size, name if name == LIBRARY else f"library:{name}"): Measured(
            name if name == LIBRARY else f"library:{name}", 10, at * 1e-6, at * 1e-6, at * 1e-6
        )
        for name, of_sizes in times.items()
        for size, at in zip(BLOCKS, of_sizes, strict=True)
    }


def test_a_choice_for_all_sizes_is_slower_at_none() -> None:
    times = uneven(library=(10, 20, 900), pairwise=(2, 2, 990), scattered=(10, 10, 900), nb=(10, 19, 890))
    (key,) = learned_keys(times, {ALLTOALLV: BLOCKS})
    assert (key.start, key.end, key.candidate) == (0, None, "library:scattered")
    assert key.time_of("library:pairwise") is None, "merging policies could choose it"
    assert key.gain == pytest.approx(2 ** (1 / 3))
    assert condense(LearnedPolicy("mpich", "5", EIGHT, (key,))).choose("alltoallv", EIGHT, 0) == key.candidate


def test_without_all_sizes_of_the_library_no_choice_for_any_size_is_made() -> None:
    times = uneven(library=(10, 20, 900), scattered=(5, 10, 450))
    del times[SweepPoint(ALLTOALLV, 1024, LIBRARY)]
    assert learned_keys(times, {ALLTOALLV: BLOCKS}) == ()


def test_a_candidate_that_loses_at_one_end_is_not_measured_between_them() -> None:
    grids, names = {ALLTOALLV: BLOCKS}, {ALLTOALLV: (LIBRARY, "library:pairwise", "library:scattered")}
    times = uneven(library=(10, 20, 900), pairwise=(2, 2, 990), scattered=(10, 10, 900))
    ends = next_points(grids, names, {})
    assert {point.size for point in ends} == {4, 65536}
    points = next_points(grids, names, {point: times[point] for point in ends})
    assert points == (SweepPoint(ALLTOALLV, 1024, LIBRARY), SweepPoint(ALLTOALLV, 1024, "library:scattered"))
    assert next_points(grids, names, {point: times[point] for point in (*ends, *points)}) == ()


def test_a_choice_for_all_sizes_is_confirmed_at_all_of_them() -> None:
    times = uneven(library=(10, 20, 900), pairwise=(2, 2, 990), scattered=(10, 10, 900))
    choices = winners(times)
    assert {(point.size, point.candidate) for point in choices} == {
        (size, name) for size in BLOCKS for name in (LIBRARY, "library:scattered")
    }
    (key,) = learned_keys(times, {ALLTOALLV: BLOCKS}, choices[:1])
    assert (key.candidate, key.decided) == (LIBRARY, False)
    fresh = uneven(library=(10, 20, 900), scattered=(10, 10, 950))
    (key,) = learned_keys(confirmed(times, fresh), {ALLTOALLV: BLOCKS})
    assert (key.candidate, key.decided) == (LIBRARY, True)
