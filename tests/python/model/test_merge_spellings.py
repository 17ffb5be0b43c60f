"""Spellings that meet in one variable."""

import pytest

from mpiric.lab.render import merge_spellings, merge_tunables
from mpiric.model.errors import MismatchError
from mpiric.model.job import Spelling


def test_tunables_of_two_knobs_end_up_in_one_variable() -> None:
    spellings = {"malloc": Spelling(tunables={"a": "1"}), "huge-pages": Spelling(tunables={"b": "2"})}
    merged = merge_spellings(spellings, {})
    assert merged["malloc"].environment == {"GLIBC_TUNABLES": "a=1:b=2"}
    assert merged["huge-pages"].environment == {}


def test_tunables_of_the_user_are_kept() -> None:
    merged = merge_spellings({"huge-pages": Spelling(tunables={"b": "2"})}, {"GLIBC_TUNABLES": "c=3:b=1"})
    assert merged["huge-pages"].environment["GLIBC_TUNABLES"] == "c=3:b=2"


def test_merging_twice_changes_nothing() -> None:
    once = merge_spellings(
        {"k": Spelling(tunables={"a": "1"}, environment={"X": "y"})}, {"GLIBC_TUNABLES": "b=2"}
    )
    assert merge_spellings(once, {"GLIBC_TUNABLES": "b=2"}) == once


def test_a_knob_without_tunables_leaves_the_variable_alone() -> None:
    assert (
        "GLIBC_TUNABLES" not in merge_spellings({"k": Spelling()}, {"GLIBC_TUNABLES": "a=1"})["k"].environment
    )


def test_two_values_of_one_variable_are_refused_by_name() -> None:
    with pytest.raises(MismatchError, match="one and two want different values of X"):
        merge_spellings(
            {"one": Spelling(environment={"X": "1"}), "two": Spelling(environment={"X": "2"})}, {}
        )


def test_the_same_value_from_two_knobs_is_not_a_contradiction() -> None:
    spellings = {"one": Spelling(environment={"X": "1"}), "two": Spelling(environment={"X": "1"})}
    assert merge_spellings(spellings, {}) == spellings


def test_a_variable_that_is_set_is_not_taken_away() -> None:
    merged = merge_spellings({"one": Spelling(environment={"X": "1"}), "two": Spelling(unset=("X", "Y"))}, {})
    assert merged["two"].unset == ("Y",)


@pytest.mark.parametrize("inherited", ["", ":", "nonsense", "=1"])
def test_invalid_tunables_are_dropped(inherited: str) -> None:
    assert merge_tunables(inherited, {"a": "1"}) == "a=1"
