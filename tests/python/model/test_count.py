import pytest

from mpiric.model.amount import count_of


def test_digits_are_a_count():
    assert count_of("128") == 128


@pytest.mark.parametrize("text", ["", "-1", "1.5", "two", "²", "٣", "9" * 5000, " 1"])
def test_anything_else_counts_nothing(text: str):
    assert count_of(text) == 0
