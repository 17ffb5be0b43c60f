from hypothesis import given
from hypothesis import strategies as st

from mpiric.machine.cpu_sets import format_list, parse_list, parse_mask


def test_a_list_of_ranges_is_read():
    assert parse_list("0-3,8,10-11\n") == (0, 1, 2, 3, 8, 10, 11)


def test_an_empty_list_is_no_cpu():
    assert parse_list("\n") == ()


def test_masks_count_words_of_32_bits_from_the_right():
    assert parse_mask("0x00000001,,,,0x0000000f") == {0, 1, 2, 3, 128}


@given(st.sets(st.integers(min_value=0, max_value=1023)))
def test_lists_survive_writing_and_reading(pus: set[int]):
    assert parse_list(format_list(tuple(pus))) == tuple(sorted(pus))
