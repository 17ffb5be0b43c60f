"""Number of marks per line of the output."""

import pytest
from tests.support.paces import key, key_pace

from mpiric.lab.output_follower import Printed, marks_per_line


def printed(count: int, every_s: float, text: str = "Time = {}") -> Printed:
    lines = [(1.0 + number * every_s, text.format(number).encode()) for number in range(count)]
    return Printed(1.0 + count * every_s, lines, [(at_s, 8 * at) for at, (at_s, _) in enumerate(lines)])


def marks(count: int, every_s: float):
    return key_pace(key(), [number * every_s for number in range(count)])


@pytest.mark.parametrize(
    ("calls", "sentence"), [(400, "4 for each line 'Time = …'"), (100, "1 for each line 'Time = …'")]
)
def test_whole_numbers_of_marks_for_a_line_are_reported(calls, sentence):
    assert marks_per_line(marks(calls, 40.0 / calls), 40.0, printed(100, 0.4)) == sentence


def test_several_lines_for_a_mark_are_reported_too():
    assert marks_per_line(marks(50, 0.8), 40.0, printed(100, 0.4)) == "1 for 2 lines 'Time = …'"


def test_lines_that_have_nothing_to_do_with_the_marks_are_not_reported():
    assert marks_per_line(marks(150, 40.0 / 150), 40.0, printed(100, 0.4)) == ""
    assert marks_per_line(marks(150, 40.0 / 150), 40.0, printed(0, 0.4)) == ""
