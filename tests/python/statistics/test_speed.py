"""Changes of the machine's speed during a search."""

from math import log

import pytest

from mpiric.statistics.effects import at_last_speed

ORIGINAL, SETTING, OTHER = (0, 0), (1, 0), (0, 1)


def test_a_steady_machine_changes_nothing() -> None:
    points = [ORIGINAL, ORIGINAL, SETTING, ORIGINAL, OTHER]
    logs = [0.0, 0.05, -0.2, 0.3, 0.1]
    assert at_last_speed(points, logs) == logs


def test_runs_before_a_change_get_the_times_of_the_last_speed() -> None:
    points = [ORIGINAL, ORIGINAL, SETTING, SETTING, OTHER, ORIGINAL, SETTING]
    slower = log(1.5)
    logs = [-0.01, 0.01, -0.1, slower - 0.1, slower, slower, slower - 0.1]
    moved = at_last_speed(points, logs)
    assert moved[:2] == pytest.approx([slower - 0.01, slower + 0.01])
    assert moved[2:] == pytest.approx([slower - 0.1, slower - 0.1, slower, slower, slower - 0.1])


def test_a_machine_that_returns_to_its_speed() -> None:
    points = [ORIGINAL, SETTING, ORIGINAL, SETTING, ORIGINAL, SETTING]
    logs = [0.0, -0.1, 0.5, 0.4, 0.0, -0.1]
    assert at_last_speed(points, logs) == pytest.approx([0.0, -0.1, 0.0, -0.1, 0.0, -0.1])


def test_disturbed_runs_of_the_original_are_no_change_of_speed() -> None:
    points = [ORIGINAL, SETTING, ORIGINAL, SETTING, ORIGINAL, OTHER, OTHER]
    logs = [0.0, -0.4, 0.0, -0.4, 0.5, -0.3, -0.3]
    assert at_last_speed(points, logs, [False] * 4 + [True, False, False]) == logs
    assert at_last_speed(points, logs, [True] * 7) != logs  # usual on this machine


def test_without_runs_of_the_original_nothing_is_known() -> None:
    assert at_last_speed([SETTING, OTHER], [0.0, 1.0]) == [0.0, 1.0]
