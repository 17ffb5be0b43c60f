"""Rows that survive a benchmark which is stopped."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from benchmarks import _kept_rows
from benchmarks._kept_rows import KeptRows, offer_parts

from mpiric.model.errors import NotFoundError


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kept_rows, "RESULTS", tmp_path)


def given(*words: str) -> Namespace:
    parser = ArgumentParser()
    offer_parts(parser)
    return parser.parse_args(words, Namespace(quick=False))


def test_with_resume_a_part_is_not_measured_again() -> None:
    KeptRows("some", given()).add("heat", lambda: [{"a": 1}])
    kept = KeptRows("some", given("--resume"))
    kept.add("heat", lambda: pytest.fail("measured again"))
    kept.add("cg", lambda: [{"a": 2}, {"a": 3}])
    assert [row["a"] for row in kept.rows] == [1, 2, 3]
    assert KeptRows("some", given()).rows == []


def test_parts_that_the_time_does_not_reach_are_named() -> None:
    kept = KeptRows("some", given("--time-limit", "0.000001"))
    kept.add("heat", lambda: pytest.fail("measured"))
    assert (kept.rows, kept.remark) == ([], " Not reached in time: heat.")


def test_a_part_that_cannot_be_measured_says_why_and_is_tried_again(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fail() -> list[dict[str, int]]:
        raise NotFoundError("no checkout of LULESH")

    KeptRows("some", given()).add("LULESH", fail)
    assert capfd.readouterr().err == "LULESH: no checkout of LULESH\n"
    kept = KeptRows("some", given("--resume"))
    kept.add("LULESH", lambda: [{"a": 1}])
    assert kept.rows == [{"a": 1}]


@pytest.mark.parametrize("error", [OSError("disk full"), TimeoutExpired(["app"], 9.0), KeyError("ratio")])
def test_an_error_in_one_part_does_not_end_the_others(error: Exception) -> None:
    def fail() -> list[dict[str, int]]:
        raise error

    table = KeptRows("some", given())
    table.add("LULESH", fail)
    table.add("AMG", lambda: [{"a": 1}])
    assert table.rows == [{"a": 1}]
    assert "Could not be measured: LULESH" in table.remark
