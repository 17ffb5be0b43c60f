"""Output of mpiric has no foreign control characters; output of users' programs stays unchanged."""

import ast
import io
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.table import Table
from rich.text import Text

import mpiric
from mpiric.cli import _streams, _terminal
from mpiric.cli._errors import exit_with
from mpiric.cli._json import json_text
from mpiric.cli._terminal import Progress
from mpiric.cli.mpi import _check_text
from mpiric.model.errors import Finding, MpiricError

ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b31m\x7f\u202egpj\u2066\r\x08"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PACKAGE = Path(mpiric.__file__).parent


@pytest.fixture
def printing(monkeypatch):
    """Guard standard output and error; the function that is returned gives what was printed on both."""

    def begin():
        out, error = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", error)
        _streams.guard()
        return lambda: out.getvalue() + error.getvalue()

    return begin


def test_all_that_is_printed_is_escaped(printing):
    streams = printing()
    print(ESCAPES)
    print(ESCAPES, file=sys.stderr)
    sys.stdout.writelines([ESCAPES])
    assert streams().count("\\x1b]0;title\\x07") == 3
    assert not CONTROL.search(streams())


def test_lines_tabs_and_other_letters_stay(printing):
    streams = printing()
    print("a\tb\nünï → ×")
    assert streams() == "a\tb\nünï → ×\n"


def test_errors_and_hints_are_escaped(printing):
    def fail() -> int:
        raise MpiricError(f"bad {ESCAPES}", hint=ESCAPES)

    streams = printing()
    with pytest.raises(SystemExit):
        exit_with(fail)
    assert "hint: " in streams()
    assert not CONTROL.search(streams())


def test_consoles_and_progress_are_escaped(printing):
    streams = printing()
    table = Table(ESCAPES)
    table.add_row(f"[red]{ESCAPES}[/nothing]")
    table.add_row(Text(ESCAPES, style="red"))
    for console in (_terminal.stdout_console(), _terminal.stderr_console()):
        console.print(ESCAPES, table)
    progress = Progress()
    progress.phase(ESCAPES)
    progress.say(ESCAPES)
    progress.found(Finding("id", ESCAPES, ESCAPES, ESCAPES))
    assert not CONTROL.search(streams())
    assert "[red]" in streams()  # it is text, not markup


def test_a_console_keeps_its_own_colours(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    _streams.guard()
    _terminal.stdout_console().print(Text(f"a{ESCAPES}b", style="red"))
    assert not CONTROL.search(re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()))
    assert "\x1b[31m" in out.getvalue()


def test_json_keeps_its_values():
    document = {"name": ESCAPES}
    assert not CONTROL.search(json_text(document))
    assert json.loads(json_text(document)) == document


def test_words_of_a_launcher_are_no_markup():
    message = _check_text(SimpleNamespace(problem="[link=https://x]y[/link] [/red]", wrong_constants=()))
    assert message.plain == "[link=https://x]y[/link] [/red]"


def test_names_of_an_unreadable_store_and_a_log_of_strangers_are_escaped(run_mpiric, tmp_path):
    directory = tmp_path / "20260101-000000-app-abc"
    directory.mkdir()
    meta = {
        "event": "meta",
        "at": "2026-01-01T00:00:00+00:00",
        "job": "x",
        "program": "app",
        "command": ["app", ESCAPES],
    }
    (directory / "events.jsonl").write_text(json.dumps(meta) + "\n")
    (directory / "lock").write_text(json.dumps({"host": ESCAPES, "pid": 1, "started": 0}))
    for arguments in (
        ("history", "--store", tmp_path),
        ("report", f"{tmp_path}/{ESCAPES}"),
        (f"no{ESCAPES}",),
    ):
        done = run_mpiric(*arguments)
        assert "\\x1b" in done.stdout + done.stderr
        assert not CONTROL.search(done.stdout + done.stderr)


def test_a_name_that_is_not_utf8_is_printed(run_mpiric):
    done = run_mpiric("report", os.fsdecode(b"/nowhere/\xff\xfe"), env={"LC_ALL": "C.UTF-8"})
    assert "\\xff\\xfe" in done.stderr
    assert "defect" not in done.stderr


def test_output_of_a_users_program_stays_as_it_is(run_mpiric, tmp_path):
    program = tmp_path / "app"
    program.write_text("#!/bin/sh\nprintf '\\033[31m\\377\\r\\007'; printf '\\033]0;x\\007' >&2; exit 3\n")
    program.chmod(0o755)
    done = run_mpiric("run", "--no-recipe", "--quiet", "--", program, text=False)
    assert (done.returncode, done.stdout) == (3, b"\x1b[31m\xff\r\x07")
    assert b"\x1b]0;x\x07" in done.stderr


def calls(path: Path):
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))


def test_nothing_prints_past_the_guard():
    """Consoles come from one place; streams below the guard are for output of users' programs alone."""
    uses = set()
    for path in PACKAGE.rglob("*.py"):
        name = str(path.relative_to(PACKAGE))
        for call in calls(path):
            word = ast.unparse(call.func)
            is_bare = word in ("Console", "rich.print", "click.echo", "click.secho", "raw")
            is_stream = "__stdout__" in word or "__stderr__" in word or word.endswith("stdout.buffer.write")
            is_print = word == "print" and not name.startswith("cli/")
            takes_markup = word.endswith(".status") and name.startswith("cli/") and bool(call.args)
            if is_bare or is_stream or is_print or takes_markup:
                uses.add((name, word))
    assert uses == {
        ("cli/_terminal.py", "raw"),
        ("cli/_terminal.py", "(console or stderr_console()).status"),
        ("profile/darshan.py", "print"),  # runs in a child process
        ("host/facts/hwloc.py", "sys.stdout.buffer.write"),  # runs in a child process
        ("cli/_compiling.py", "raw"),  # the compiler's messages
        ("cli/_submitting.py", "raw"),  # output of a job
    }
