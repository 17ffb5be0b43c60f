import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiric.model.batch import counts_of, hosts_of
from mpiric.model.errors import MpiricError


def test_ranges_and_single_names_are_expanded():
    assert hosts_of("n[1-3,7],login") == ("n1", "n2", "n3", "n7", "login")


def test_leading_zeros_are_kept():
    assert hosts_of("kp[008-010]") == ("kp008", "kp009", "kp010")


def test_names_stay_in_the_order_written():
    assert hosts_of("b1,a[1-2]") == ("b1", "a1", "a2")


@pytest.mark.parametrize(
    "text", ["n[1-", "a b", "a;b", "-x", "@all", "a,", "n[1-999999999]", "n[1-4]4294967296"]
)
def test_a_list_that_cannot_be_read_is_an_error_that_names_it(text: str):
    with pytest.raises(MpiricError) as error:
        hosts_of(text)
    assert repr(text) in error.value.message


def test_repeated_counts_are_expanded():
    assert counts_of("2(x3),1") == (2, 2, 2, 1)


def test_counts_that_cannot_be_read_are_an_error():
    with pytest.raises(MpiricError):
        counts_of("2(x")


@given(st.sets(st.integers(1, 2000), min_size=1, max_size=50))
def test_a_list_of_numbers_is_expanded_to_hosts(numbers):
    listed = ",".join(str(number) for number in sorted(numbers))
    assert list(hosts_of(f"n[{listed}]")) == [f"n{number}" for number in sorted(numbers)]
