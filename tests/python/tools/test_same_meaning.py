"""Tests of the check that a change of prose or names left the program as it was."""

import subprocess
from pathlib import Path

import pytest
from tools.check.same_meaning import Rules, compare, main

PYTHON = '''
def total(values):
    """Of the values."""
    found = sum(values)  # of all
    return {"sum of them": found}
'''
C = '/* of all */ int found = 1; // here\nconst char *text = "a // b" "c";\n'


@pytest.mark.parametrize(
    ("new", "rules", "expected"),
    [
        (PYTHON.replace("Of the values", "Return the sum").replace("# of all", "# sum"), Rules(), True),
        (PYTHON.replace("sum(values)", "sum(values) + 1"), Rules(ignore_locals=True), False),
        (PYTHON.replace("found", "result"), Rules(), False),
        (PYTHON.replace("found", "result"), Rules(ignore_locals=True), True),
        (PYTHON.replace("found", "result"), Rules(renamed=frozenset([("found", "result")])), True),
        # The new name of the local variable is also the name of the function that it calls.
        (PYTHON.replace("found", "sum"), Rules(ignore_locals=True), False),
        (PYTHON.replace("found = sum", "result = sum"), Rules(ignore_locals=True), False),
        (PYTHON.replace("sum of them", "sum"), Rules(), False),
        (PYTHON.replace("sum of them", "sum"), Rules(ignore_strings=True), True),
        (PYTHON.replace("total", "total_of"), Rules(ignore_locals=True), False),
    ],
)
def test_python_is_compared_without_the_allowed_differences(new: str, rules: Rules, expected: bool) -> None:
    assert (compare("a.py", PYTHON, new, rules)[0] == "") is expected


@pytest.mark.parametrize(
    ("new", "rules", "expected"),
    [
        ('int found = 1;\nconst char* text = "a // bc"; // reworded', Rules(), True),
        (C.replace("found", "count"), Rules(), False),
        (C.replace("found", "count"), Rules(renamed=frozenset([("found", "count")])), True),
        (C.replace("a // b", "b"), Rules(), False),
        (C.replace("a // b", "b"), Rules(ignore_strings=True), True),
        ("#define ONE 1\n" + C, Rules(), False),
    ],
)
def test_c_is_compared_as_tokens_without_comments(new: str, rules: Rules, expected: bool) -> None:
    assert (compare("a.cpp", C, new, rules)[0] == "") is expected


def test_expressions_of_a_reworded_message_must_stay() -> None:
    rules = Rules(ignore_strings=True)
    assert not compare("a.py", 'f"{a} of {b}"', 'f"{b}: {a}"', rules)[0]
    assert compare("a.py", 'f"{a} of {b}"', 'f"{a}"', rules)[0]


def test_files_that_differ_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@localhost")
    subprocess.run([*git, "init", "-q"], check=True)
    for version in (PYTHON, PYTHON.replace("found", "result"), PYTHON.replace("found", "sum")):
        (tmp_path / "a.py").write_text(version)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "a"], check=True)
    assert main(["HEAD~2", "HEAD~1", "--locals"]) == 0
    assert main(["HEAD~1", "HEAD", "--locals"]) == 1
    assert "a.py: the meaning differs" in capsys.readouterr().out
