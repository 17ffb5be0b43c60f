"""Times caused by the scheduler are distinguished from message times."""

import pytest

from mpiric.host.facts.time_slices import Timed, disturbances, tick_s

TICK_S = 0.004
SIZES = [2**power for power in range(3, 17)]


def series(*times_s: float, **of: float) -> dict[int, Timed]:
    return {size: Timed(time_s, **of) for size, time_s in zip(SIZES, times_s, strict=False)}


def test_times_of_two_slices_from_8_bytes_to_64_kib_are_disturbed() -> None:
    slices = series(*(8.00e-3 + 2e-6 * (at % 7) for at in range(len(SIZES))))
    assert list(disturbances(slices, TICK_S)) == SIZES


def test_one_level_for_all_sizes_is_disturbed_even_if_not_a_multiple_of_a_slice() -> None:
    disturbed = disturbances(series(*[5.3e-3] * len(SIZES)), TICK_S)
    assert list(disturbed) == SIZES
    assert "all sizes" in disturbed[8]


@pytest.mark.parametrize(
    "times",
    [
        series(*[1.5e-6] * 8, *(1.5e-6 * 1.3**step for step in range(6))),  # a latency
        series(*(1e-3 + size / 12.5e6 for size in SIZES)),  # Gigabit Ethernet of a virtual cluster
    ],
)
def test_times_of_messages_are_not(times: dict[int, Timed]) -> None:
    assert disturbances(times, TICK_S) == {}


def test_a_noisy_time_near_a_multiple_is_not() -> None:
    assert disturbances({8: Timed(8.01e-3, spread_s=1e-3)}, TICK_S) == {}
    assert disturbances({8: Timed(8.01e-3, spread_s=1e-5)}, TICK_S)


def test_preempted_measurements_are_disturbed_at_any_time() -> None:
    assert list(disturbances({8: Timed(3e-6, preempted=True), 16: Timed(3e-6)}, TICK_S)) == [8]


def test_the_tick_is_that_of_a_kernel() -> None:
    assert 1e-4 < tick_s() <= 0.01
