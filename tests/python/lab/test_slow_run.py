"""A run that is stopped between its marks gives a lower bound of the time per mark."""

import pytest
from tests.support.marks_files import marks_file
from tests.support.paces import key

from mpiric.lab.probes import SlowRun
from mpiric.model.pace import MarkPair
from mpiric.profile.marks import read_marks

FIRST_ALONE = ((2.0, 50, 500), (-5.0, 0, 0))  # the last mark is at the zero of the clock: not reached


@pytest.fixture
def run(tmp_path):
    """`run(least, *crossings)`: a watch of ranks with these crossings, and its clock."""

    class Run:
        now_s = 100.0
        pair = MarkPair(key(), 10, 20)

        def leave(self, *crossings):
            for path in tmp_path.glob("*.marks"):
                path.unlink()
            for rank, crossing in enumerate(crossings):
                marks_file(tmp_path, rank, world=len(crossings), state=1, crossings=crossing)

        def ranks(self):
            return read_marks(tmp_path).ranks

        def watch(self, limit_s):
            self.slow = SlowRun(self.pair, lambda per_mark_s: per_mark_s >= limit_s, clock=lambda: self.now_s)

        def look(self, after_s=0.0):
            self.now_s += after_s
            return self.slow.look(self.ranks()[0], self.ranks)

    return Run()


def test_time_counts_from_when_all_ranks_are_behind_the_first_mark(run):
    run.watch(0.2)
    run.leave(FIRST_ALONE, None)
    assert not run.look()
    assert not run.look(after_s=60.0)
    assert run.slow.least_per_mark_s(run.ranks()) is None
    run.leave(FIRST_ALONE, FIRST_ALONE)
    assert not run.look()
    assert not run.look(after_s=1.9)
    assert run.look(after_s=0.2)
    assert run.slow.was_stopped
    assert run.slow.least_per_mark_s(run.ranks()) == pytest.approx(0.21)


def test_ranks_that_have_come_to_the_last_mark_count_by_their_own_time(run):
    run.watch(0.2)
    run.leave(FIRST_ALONE, FIRST_ALONE, FIRST_ALONE)
    run.look()
    assert run.look(after_s=2.5)
    came = ((2.0, 50, 500), (3.0, 100, 1000))
    run.leave(FIRST_ALONE, came, came)
    assert run.slow.least_per_mark_s(run.ranks()) == pytest.approx(0.1)


def test_a_run_whose_first_rank_has_come_is_not_stopped_any_more(run):
    run.watch(0.2)
    run.leave(FIRST_ALONE, FIRST_ALONE)
    run.look()
    run.leave(((2.0, 50, 500), (9.0, 100, 1000)), FIRST_ALONE)
    assert not run.look(after_s=60.0)


def test_where_rank_0_alone_counts_the_others_do_not_matter(run):
    run.pair = MarkPair(key(), 10, 20, on_rank_0_alone=True)
    run.watch(0.2)
    run.leave(FIRST_ALONE, None)
    run.look()
    assert run.look(after_s=3.0)
    assert run.slow.least_per_mark_s(run.ranks()) == pytest.approx(0.3)
