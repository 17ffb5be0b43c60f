import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.marks_files import INIT_S, marks_file
from tests.support.paces import key

from mpiric.model.pace import MarkPair
from mpiric.model.run import Split
from mpiric.profile.marks import read_first_rank, read_marks
from mpiric.tuning.mark_split import (
    forecast_s,
    gain_of_longer,
    marks_of,
    split_gain,
    split_of,
    split_of_stopped,
)

PAIR = MarkPair(key(), 10, 20)
BEGUN_S = 1000.0  # when the files' ranks enter MPI_Init


def near(seconds):
    return pytest.approx(seconds, abs=1e-6)


def test_a_whole_run_is_cut_at_init_and_finalize(tmp_path):
    for rank in (0, 1):
        marks_file(tmp_path, rank, state=2, finalized_s=3.0)
    split = split_of(read_marks(tmp_path), None, BEGUN_S - 0.5, 4.0)
    assert split == Split(near(0.5 + INIT_S), near(3.0), near(0.25))


def test_a_run_that_ended_at_a_mark_has_the_time_per_mark_and_no_end(tmp_path):
    for rank in (0, 1):
        marks_file(tmp_path, rank, crossings=((2.0, 50, 500), (3.0, 100, 1000)))
    split = split_of(read_marks(tmp_path), PAIR, BEGUN_S - 0.5, 4.0)
    # The tenth mark comes at 2 s: ten of 0.1 s each, and a second before them.
    assert split == Split(near(0.5 + INIT_S + 1.0), None, None, near(0.1))


def test_the_interval_is_that_of_the_middle_rank_by_its_own_clock(tmp_path):
    for rank, last_s in ((0, 3.0), (1, 3.4), (2, 9.0)):
        marks_file(tmp_path, rank, world=3, crossings=((2.0, 50, 500), (last_s, 100, 1000)))
    assert split_of(read_marks(tmp_path), PAIR, BEGUN_S, 9.0).per_mark_s == near(0.14)
    alone = MarkPair(key(), 10, 20, on_rank_0_alone=True)
    assert split_of(read_marks(tmp_path), alone, BEGUN_S, 9.0).per_mark_s == near(0.1)


def test_clocks_of_other_hosts_cannot_make_a_part_negative(tmp_path):
    marks_file(tmp_path, state=2, world=1, finalized_s=3.0)
    for started_s in (BEGUN_S + 100, BEGUN_S - 100):
        split = split_of(read_marks(tmp_path), None, started_s, 4.0)
        assert INIT_S <= split.start_s <= 1.0
        assert split.start_s + split.main_s + split.end_s == near(4.0)


def test_without_rank_0_the_parts_are_unknown(tmp_path):
    marks_file(tmp_path, 1)
    assert split_of(read_marks(tmp_path), None, BEGUN_S, 4.0) is None


def test_a_run_that_never_came_to_the_marks_has_no_time_per_mark(tmp_path):
    marks_file(tmp_path, state=2, finalized_s=3.0)
    assert split_of(read_marks(tmp_path), PAIR, BEGUN_S, 4.0).per_mark_s is None


def test_the_first_rank_is_read_alone_while_others_are_torn(tmp_path):
    assert read_first_rank(tmp_path) is None
    (tmp_path / "rank-0.n1.7.marks").write_bytes(b"MPIRICM\n")
    assert read_first_rank(tmp_path) is None
    marks_file(tmp_path, 0)
    (tmp_path / "rank-1.n1.8.marks").write_bytes(b"torn")
    assert read_first_rank(tmp_path).rank == 0


def test_gains_of_start_up_and_of_steps_are_distinguished():
    pairs = [(Split(0.34 * f, 0.5, 0.01), Split(0.12, 0.5 * f, 0.01)) for f in (1, 1.02, 0.98, 1.01) * 4]
    gain = split_gain(pairs)
    assert gain.start.low > 2.5
    assert gain.main.low <= 1 <= gain.main.high
    assert dict(gain.longer)[100] == pytest.approx(1.0, abs=0.02)


def test_runs_without_a_main_part_show_no_split():
    assert split_gain([]) is None
    assert split_gain([(Split(0.3), Split(0.2))]) is None


def test_a_stopped_run_has_a_start_up_and_the_least_that_its_main_part_takes(tmp_path):
    marks_file(tmp_path, state=1)
    split = split_of_stopped(read_marks(tmp_path), None, BEGUN_S - 0.5, 4.0)
    assert split == Split(near(0.5 + INIT_S), near(4.0 - 0.5 - INIT_S), start_from_s=near(0.5 + INIT_S))


def test_a_run_that_was_stopped_behind_its_first_mark_has_bounds_of_both_parts(tmp_path):
    marks_file(tmp_path, state=1, crossings=((2.0, 50, 500), (-5.0, 0, 0)))
    split = split_of_stopped(read_marks(tmp_path), (PAIR, 0.15), BEGUN_S - 0.5, 4.0)
    # Steps of 0.15 s or more leave half a second or less of the two before the first mark.
    assert split == Split(near(0.5 + INIT_S + 0.5), per_mark_s=0.15, start_from_s=near(0.5 + INIT_S))


def test_pairs_whose_second_run_was_stopped_bound_the_gain_of_the_steps_and_tell_that_of_start_up():
    complete_pairs = [(Split(0.3, per_mark_s=0.5), Split(0.1, per_mark_s=0.2))] * 6
    stopped = [(Split(0.3, per_mark_s=0.4, start_from_s=0.3), Split(0.1, per_mark_s=0.2))] * 6
    gain = split_gain(complete_pairs + stopped)
    assert (gain.original, gain.tuned) == complete_pairs[0]
    assert gain.main.ratio == pytest.approx(2.5)
    assert (gain.main.low, gain.main.high) == (pytest.approx(2.0), float("inf"))
    assert gain.start.low == gain.start.high == pytest.approx(3.0)


def test_stopped_runs_of_one_side_alone_would_have_shown_a_gain_where_there_is_none():
    """The pairs that were stopped, of pairs around 1, are those with the slowest original."""
    even = [(Split(0.1, f), Split(0.1, 1.0)) for f in (0.98, 0.99, 1.01, 0.97) * 3]
    stopped = [(Split(0.1, 1.0), Split(0.1, 2.0, start_from_s=0.1))] * 6
    gain = split_gain(even + stopped)
    assert gain.main.low < 0.5
    assert gain.main.ratio < 1


seconds = st.floats(1e-3, 1e3)


@given(seconds, seconds, seconds, st.integers(1, 10**6))
def test_a_forecast_and_its_marks_are_each_others_inverse(start_s, per_mark_s, end_s, marks):
    split = Split(start_s, per_mark_s=per_mark_s, end_s=end_s)
    assert marks_of(split, forecast_s(split, marks)) == pytest.approx(marks, rel=1e-3, abs=1e-3)


def test_a_gain_of_start_up_fades_with_the_length_of_the_run():
    original, tuned = Split(0.34, main_s=0.5, end_s=0.0), Split(0.12, main_s=0.5, end_s=0.0)
    gains = [gain_of_longer(original, tuned, times) for times in (1, 10, 100)]
    assert gains == [pytest.approx(0.84 / 0.62), pytest.approx(5.34 / 5.12), pytest.approx(50.34 / 50.12)]
