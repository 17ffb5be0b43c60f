"""Files spread over subdirectories: their rules, and where they belong."""

from pathlib import Path

import pytest

from mpiric.model.file_rules import SpreadRule, in_own_places, own_place, parse_spread, write_spread


def test_rules_are_read_as_they_are_written():
    rules = (SpreadRule("restart.*", 16), SpreadRule("dump.*", 4))
    assert parse_spread(write_spread(rules)) == rules


@pytest.mark.parametrize(
    "text", ["", "x", "x:0", "x:-1", "x:9999", "a/b:2", "a b:2", "$(x):2", "x:2;", "x:02"]
)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="subdirectories"):
        parse_spread(text)


@pytest.mark.parametrize(
    ("path", "original"),
    [
        ("out/mpiric-spread/03/restart.17", "out/restart.17"),
        ("mpiric-spread/1024/x", "x"),
        ("out/restart.17", None),
        ("mpiric-spread/manifest", None),
        ("mpiric-spread/own/x", None),
        ("other-mpiric-spread/03/x", None),
    ],
)
def test_a_spread_file_belongs_where_the_program_named_it(path, original):
    assert own_place(path) == original


def test_manifests_are_not_output():
    files = {"log": Path("1"), "out/mpiric-spread/manifest": Path("2"), "out/mpiric-spread/00/a": Path("3")}
    assert in_own_places(files) == {"log": Path("1"), "out/a": Path("3")}
