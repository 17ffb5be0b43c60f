"""Tests that each recorded case still produces its stored text."""

from pathlib import Path

import pytest
from tests.recorded.case import play
from tests.recorded.expectations import DIRECTORY, difference, path_of
from tests.recorded.families import all_cases

CASES = all_cases()


@pytest.mark.parametrize("key", CASES, ids="/".join)
def test_case_goes_as_recorded(key: tuple[str, str], tmp_path: Path) -> None:
    changes = difference(*key, play(CASES[key], tmp_path / "a/case/of/its/own"))
    assert not changes, f"\n{changes}\n\nif this is meant: python -m tests.recorded --write {'/'.join(key)}"


def test_every_expectation_belongs_to_a_case() -> None:
    assert {path_of(*key) for key in CASES} == set(DIRECTORY.glob("*/*.txt"))
