"""Which calls count the steps of a program: the rarest ones, unless their steps become many times longer."""

import time
from itertools import accumulate

from tests.support.paces import key, run_pace, steps

from mpiric.tuning.marks.evenness import is_even
from mpiric.workflows.trials import learn_marks

GROWING = key("MPI_Send", "app+0x10", ranks=2)
STEP = key("MPI_Send", "app+0x20", ranks=2)
LENGTHS = [0.1 * 1.03**number for number in range(64)]


def counted(calls, seen_s):
    watch = learn_marks._Watch(None, None, learn_marks.MarkWishes(60.0), time.monotonic())
    return watch._counted(run_pace(calls, seen_s, ranks=2))


def test_calls_that_come_more_often_count_the_steps_where_the_rarest_grow():
    times = list(accumulate(LENGTHS))
    assert is_even(times, 1, times[-1])
    result = counted({GROWING: times, STEP: steps(400, times[-1] / 400)}, times[-1])
    assert result.choice.key == STEP
    assert result.window is not None


def test_the_first_reason_is_told_where_no_calls_count_the_steps():
    times = list(accumulate(LENGTHS))
    result = counted({GROWING: times}, times[-1])
    assert result.window is None
    assert "times longer" in result.choice.why
