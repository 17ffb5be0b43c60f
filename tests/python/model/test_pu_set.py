import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiric.model.machine import parse_pu_list, parse_pu_mask, pu_list


def test_a_list_of_ranges_is_read():
    assert parse_pu_list("0-3,8,10-11\n") == (0, 1, 2, 3, 8, 10, 11)


def test_an_empty_list_has_no_cpu():
    assert parse_pu_list("\n") == ()


def test_masks_count_words_of_32_bits_from_the_right():
    assert parse_pu_mask("0x00000001,,,,0x0000000f") == (0, 1, 2, 3, 128)


@pytest.mark.parametrize(
    "part", ["", "x", "-3", "3-", "3-1", "1-2-3", "0-3:2", "0-3/2", "٣", "0-99999999999", "1e3"]
)
def test_what_is_no_range_of_hardware_threads_is_left_out(part: str):
    assert parse_pu_list(f"8,{part},5") == (5, 8)


@given(st.sets(st.integers(min_value=0, max_value=1023)))
def test_lists_survive_writing_and_reading(pus: set[int]):
    assert parse_pu_list(pu_list(tuple(pus))) == tuple(sorted(pus))
