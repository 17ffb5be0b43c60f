"""Conditions on numbers, and numbers in sentences."""

import pytest

from mpiric.model.amount import parse_condition, quote


@pytest.mark.parametrize(
    ("text", "holds"),
    [("nodes >= 2", True), ("nodes > 2", False), ("nodes < 3", True), ("ranks >= 1", False)],
)
def test_a_condition_compares_one_number_and_treats_a_missing_one_as_zero(text, holds):
    assert parse_condition(text).holds({"nodes": 2}) is holds


@pytest.mark.parametrize("text", ["nodes", "nodes is 2", "nodes >= many"])
def test_anything_else_is_not_a_condition(text):
    with pytest.raises(ValueError):
        parse_condition(text)


def test_sentences_quote_numbers_as_people_read_them():
    numbers = {"share": 0.031, "size": 65536.0, "count": 12345.0}
    assert quote("{share:%}, {size:b}, {count:n}", numbers) == "3.1 %, 64 KiB, 12,345"
