"""Which calls count the steps of a program: the rarest ones, unless their steps become many times longer."""

import time
from itertools import accumulate
from types import SimpleNamespace

import pytest
from tests.support.paces import key, run_pace, steps

from mpiric.lab.output_follower import Printed
from mpiric.tuning.mark_choice import is_even
from mpiric.workflows.trials import step_markers

GROWING = key("MPI_Send", "app+0x10", ranks=2)
STEP = key("MPI_Send", "app+0x20", ranks=2)
LENGTHS = [0.1 * 1.03**number for number in range(64)]


LINES = [(0.2 * number, b"Time = %d" % number) for number in range(60)]


def counted(calls, seen_s):
    watch = step_markers._Watch(None, None, step_markers.MarkOptions(60.0), time.monotonic())
    return watch._counted(run_pace(calls, seen_s, ranks=2))


def test_calls_that_come_more_often_count_the_steps_where_the_rarest_grow():
    times = list(accumulate(LENGTHS))
    assert is_even(times, 1, times[-1])
    result = counted({GROWING: times, STEP: steps(400, times[-1] / 400)}, times[-1])
    assert result.choice.key == STEP
    assert result.window is not None


def test_the_first_reason_is_reported_where_no_calls_count_the_steps():
    times = list(accumulate(LENGTHS))
    result = counted({GROWING: times}, times[-1])
    assert result.window is None
    assert "times longer" in result.choice.why


def test_the_end_of_a_run_may_take_long_on_a_busy_node():
    pace = run_pace({STEP: steps(100, 0.1)}, seen_s=18.0, ranks=2)
    assert counted({STEP: steps(100, 0.1)}, 18.0).window is None
    watch = step_markers._Watch(None, None, step_markers.MarkOptions(60.0), 0.0)
    assert watch.proposal(pace.seen_until(10.0), "", at_end=True).choice.key == STEP


@pytest.mark.parametrize(("is_late", "is_printed"), [(True, True), (False, False)])
def test_lines_count_the_steps_where_no_calls_do_for_long(monkeypatch, is_late, is_printed):
    monkeypatch.setattr(step_markers, "time", SimpleNamespace(monotonic=lambda: 12.0))
    output = SimpleNamespace(printed=lambda *_: Printed(12.0, LINES, ()))
    watch = step_markers._Watch(None, output, step_markers.MarkOptions(60.0), 0.0, _calls_are_late=is_late)
    bursts = run_pace({STEP: [6.0 + 0.001 * number for number in range(100)]}, 12.0, ranks=2)
    key = watch.proposal(bursts, "").choice.key
    assert (key is not None and key.is_printed) is is_printed
