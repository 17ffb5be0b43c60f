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


def arguments(*options: str) -> Namespace:
    parser = ArgumentParser()
    offer_parts(parser)
    return parser.parse_args(options, Namespace(quick=False))


def test_with_resume_a_part_is_not_measured_again() -> None:
    KeptRows("some", arguments()).add("heat", lambda: [{"a": 1}])
    table = KeptRows("some", arguments("--resume"))
    table.add("heat", lambda: pytest.fail("measured again"))
    table.add("cg", lambda: [{"a": 2}, {"a": 3}])
    assert [row["a"] for row in table.rows] == [1, 2, 3]
    assert KeptRows("some", arguments()).rows == []


def test_parts_that_the_time_does_not_reach_are_named() -> None:
    table = KeptRows("some", arguments("--time-limit", "0.000001"))
    table.add("heat", lambda: pytest.fail("measured"))
    assert (table.rows, table.remark) == ([], " Not reached in time: heat.")


def test_a_part_that_cannot_be_measured_says_why_and_is_tried_again(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fail() -> list[dict[str, int]]:
        raise NotFoundError("no checkout of LULESH")

    KeptRows("some", arguments()).add("LULESH", fail)
    assert capfd.readouterr().err == "LULESH: no checkout of LULESH\n"
    table = KeptRows("some", arguments("--resume"))
    table.add("LULESH", lambda: [{"a": 1}])
    assert table.rows == [{"a": 1}]


@pytest.mark.parametrize("error", [OSError("disk full"), TimeoutExpired(["app"], 9.0), KeyError("ratio")])
def test_an_error_in_one_part_does_not_end_the_others(error: Exception) -> None:
    def fail() -> list[dict[str, int]]:
        raise error

    table = KeptRows("some", arguments())
    table.add("LULESH", fail)
    table.add("AMG", lambda: [{"a": 1}])
    assert table.rows == [{"a": 1}]
    assert "Could not be measured: LULESH" in table.remark
