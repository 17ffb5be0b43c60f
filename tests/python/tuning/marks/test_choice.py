from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.paces import key, key_pace, run_pace, steps

from mpiric.model.pace import RankPace, RunPace
from mpiric.tuning.mark_choice import (
    at_any_size,
    choose_key,
    is_collective,
    is_even,
    is_send,
    without_places,
)

INNER = key("MPI_Allreduce", "app+0x10")
STEP = key("MPI_Allreduce", "app+0x20")
SEND = key("MPI_Send", "app+0x30")
OF_SOME = key("MPI_Allreduce", "app+0x40", ranks=2)


@given(st.integers(40, 5000), st.floats(1e-4, 10), st.integers(0, 10**9))
def test_steps_of_a_little_varying_length_are_even(count, each_s, seed):
    random = Random(seed)
    times = [(number + 0.3 * random.random()) * each_s for number in range(count)]
    pace = key_pace(STEP, times)
    assert is_even(pace.times_s, pace.stride, count * each_s)


@given(st.floats(0.3, 0.39))
def test_calls_that_stop_before_the_end_of_the_observation_are_not_even(part):
    times = steps(1000, part / 1000, start_s=0.5)
    pace = key_pace(STEP, times)
    assert not is_even(pace.times_s, pace.stride, 1.0)


def test_calls_with_a_gap_of_more_than_a_quarter_are_not_even():
    times = [time for time in steps(100, 1.0) if not 60 < time < 75]
    assert not is_even(times, 1, 100.0)
    assert is_even([time for time in steps(100, 1.0) if not 60 < time < 70], 1, 100.0)


def test_calls_that_come_more_and_more_often_are_not_even():
    assert not is_even([100 * (number / 60) ** 0.25 for number in range(61)], 1, 100.0)


def test_fifteen_calls_in_the_second_half_are_too_few():
    assert not is_even(steps(31, 1.0), 1, 31.1)
    assert is_even(steps(33, 1.0), 1, 32.5)


def test_start_up_without_calls_does_not_matter():
    assert is_even(steps(50, 1.0, start_s=50), 1, 100.0)


def test_the_rarest_even_collective_of_all_ranks_is_chosen():
    pace = run_pace({INNER: steps(1000, 0.1), STEP: steps(100, 1.0), SEND: steps(50, 2.0)}, 100.0)
    assert choose_key(pace).key == STEP


def test_a_collective_of_some_ranks_is_none_of_all():
    pace = run_pace({INNER: steps(1000, 0.1), OF_SOME: steps(100, 1.0)}, 100.0)
    assert choose_key(pace).key == INNER


def test_without_an_even_collective_the_rarest_even_send_is_chosen():
    pace = run_pace({STEP: steps(3, 1.0), SEND: steps(50, 2.0)}, 100.0)
    choice = choose_key(pace)
    assert (choice.key, choice.on_rank_0_alone) == (SEND, False)


def test_a_collective_that_only_rank_0_calls_from_this_place_is_not_a_mark():
    pace = run_pace({STEP: steps(100, 1.0), INNER: steps(1000, 0.1)}, 100.0)
    first, *other_ranks = pace.ranks
    without = tuple(replace(rank, keys=rank.keys[1:]) for rank in other_ranks)
    assert choose_key(RunPace(4, (first, *without))).key == INNER


def test_sends_of_a_master_count_on_rank_0_alone():
    first = RankPace(0, 100.0, (key_pace(SEND, steps(100, 1.0)),))
    workers = tuple(
        RankPace(rank, 100.0, (key_pace(replace(SEND, place="app+0x99"), steps(31, 3.0)),)) for rank in (1, 2)
    )
    choice = choose_key(RunPace(3, (first, *workers)))
    assert (choice.key, choice.on_rank_0_alone) == (SEND, True)


def test_a_program_without_even_calls_has_no_mark_and_the_reason():
    random = Random(1)
    early = sorted(random.uniform(0, 40) for _ in range(500))
    assert (
        choose_key(run_pace({STEP: early}, 100.0)).why
        == "no collective of all ranks and no send occurs at regular intervals"
    )
    assert choose_key(run_pace({STEP: steps(7, 1.0)}, 8.0)).why == "no call came more than 7 times in 8 s"
    assert choose_key(RunPace(2, ())).key is None


def test_the_choice_does_not_depend_on_the_order_of_keys():
    calls = {key(place=f"app+{place}"): steps(100, 1.0) for place in range(5)}
    turned = dict(reversed(list(calls.items())))
    assert choose_key(run_pace(calls, 100.0)) == choose_key(run_pace(turned, 100.0))


def test_without_places_calls_from_all_places_count_together():
    pace = without_places(run_pace({INNER: steps(100, 1.0), STEP: steps(100, 1.0, start_s=0.5)}, 100.0))
    assert [(calls.key.place, calls.calls) for calls in pace.ranks[0].keys] == [("", 200)]
    assert choose_key(pace).key == replace(STEP, place="")


def test_of_keys_that_became_one_no_later_call_is_timed_than_was_made():
    two = {INNER: steps(2000, 1.0), STEP: steps(2000, 1.0, start_s=0.5)}
    (merged,) = without_places(run_pace(two, 2000.0)).first_rank.keys
    assert merged.calls == 4000
    assert merged.stride * (len(merged.times_s) - 1) >= 4000  # both have their first call
    assert merged.last_timed == 4000
    assert merged.time_of(4000) <= 2000.0


@pytest.mark.parametrize(
    "function", ["MPI_Allreduce", "MPI_Ibarrier", "MPI_Reduce_scatter_block", "MPI_Allreduce_c"]
)
def test_collectives_are_known_by_name(function):
    assert is_collective(function)
    assert not is_send(function)


@pytest.mark.parametrize("function", ["MPI_Send", "MPI_Isend", "MPI_Startall", "MPI_Sendrecv", "MPI_Isend_c"])
def test_sends_are_known_by_name(function):
    assert is_send(function)
    assert not is_collective(function)


@pytest.mark.parametrize("function", ["MPI_Recv", "MPI_Iprobe", "MPI_Waitall", "MPI_Test", "MPI_Init"])
def test_polls_waits_and_receives_are_never_marks(function):
    assert not is_send(function)
    assert not is_collective(function)


def test_a_collective_of_all_ranks_counts_steps_at_any_size():
    pace = at_any_size(run_pace({key(): steps(100, 0.1)}, 10.0))
    assert [calls.key for calls in pace.ranks[0].keys] == [key(ranks=0)]


def test_a_call_site_that_parts_of_the_ranks_use_counts_no_steps_at_another_size():
    of_all, of_part = key(), key(ranks=2)
    assert at_any_size(run_pace({of_all: steps(100, 0.1), of_part: steps(9, 1.0)}, 10.0)).ranks[0].keys == ()


def test_sends_count_no_steps_at_another_size():
    assert at_any_size(run_pace({key("MPI_Send"): steps(100, 0.1)}, 10.0)).ranks[0].keys == ()


def test_a_key_of_any_size_is_a_step_marker():
    choice = choose_key(at_any_size(run_pace({key(): steps(100, 0.1)}, 10.0)))
    assert choice.key == key(ranks=0)
