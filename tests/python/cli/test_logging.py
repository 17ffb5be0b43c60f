"""The log of `mpiric -v`, `-vv` and `--log-file`."""

import ast
import logging
import os
from pathlib import Path

import pytest

from mpiric.cli import _errors, _logging
from mpiric.cli._terminal import Progress
from mpiric.host.facts.local import LocalHost
from mpiric.host.owned_files import write_whole
from mpiric.host.toolchain import Toolchain
from mpiric.model.errors import NoRoomError

SOURCE = Path(__file__).parents[3] / "src/mpiric"
STARTS = {"Popen", "posix_spawn", "execvpe"}  # and `run` of subprocess


@pytest.fixture
def configure():
    """Set up the log as the command line does; everything is as before after the test."""
    logger = logging.getLogger("mpiric")
    before = (logger.level, logger.propagate, [*logger.handlers])
    yield _logging.configure
    for handler in {*logger.handlers} - {*before[2]}:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(before[0])
    logger.propagate = before[1]


@pytest.mark.parametrize(("verbosity", "shows_start", "shows_end"), [(0, 0, 0), (1, 1, 0), (2, 1, 1)])
def test_commands_are_logged_on_stderr(configure, capsys, verbosity, shows_start, shows_end):
    configure(verbosity, None)
    LocalHost().run(["true", "x y"])
    lines = capsys.readouterr().err.splitlines()
    assert sum("mpiric.host: start: true 'x y'" in line for line in lines) == shows_start
    assert sum("end: 0 after" in line for line in lines) == shows_end


def test_a_log_file_has_everything_with_time_and_package(configure, tmp_path, capsys):
    configure(0, tmp_path / "log")
    LocalHost().run(["true"], environment={"COLOUR": "blue", "LD_PRELOAD": None})
    Toolchain(os.environ, 1).run(["true", "tool"])
    write_whole(tmp_path / "result", b"1")
    text = (tmp_path / "log").read_text()
    assert " INFO mpiric.host: start: true\n" in text
    assert " DEBUG mpiric.host:   environment: -u LD_PRELOAD COLOUR=blue\n" in text
    assert " INFO mpiric.host: start: true tool\n" in text
    assert f" INFO mpiric.host: wrote: {tmp_path / 'result'}\n" in text
    assert capsys.readouterr().err == ""


def test_a_log_file_is_appended_to(configure, tmp_path):
    (tmp_path / "log").write_text("earlier\n")
    configure(0, tmp_path / "log")
    assert (tmp_path / "log").read_text().startswith("earlier\n")


def test_secrets_are_masked(configure, tmp_path):
    configure(0, tmp_path / "log")
    LocalHost().run(["true", "--password=hunter2"], environment={"API_TOKEN": "hunter2"})
    assert "hunter2" not in (tmp_path / "log").read_text()


def test_messages_are_in_the_file_and_only_once_on_the_screen(configure, tmp_path, capsys):
    configure(1, tmp_path / "log")
    _errors.say("the disk is full")
    Progress().say("a finding")
    text, screen = (tmp_path / "log").read_text(), capsys.readouterr().err
    for message in ("the disk is full", "a finding"):
        assert (text.count(message), screen.count(message)) == (1, 1)


def test_a_log_file_that_cannot_be_written_is_refused(configure, tmp_path):
    with pytest.raises(NoRoomError, match="cannot write"):
        configure(0, tmp_path / "missing/log")


def test_a_full_disk_ends_the_log_and_not_the_command(configure, capsys):
    configure(0, Path("/dev/full"))
    assert LocalHost().run(["true"]).status == 0
    assert capsys.readouterr().err.count("can no longer be written") == 1


def test_without_an_option_nothing_is_set_up(configure):
    before = [*logging.getLogger("mpiric").handlers]
    configure(0, None)
    assert logging.getLogger("mpiric").handlers == before


def test_options_after_the_verb_are_explained(run_mpiric):
    done = run_mpiric("tune", "-v", "--", "true")
    assert (done.returncode, "hint: write it before the command: mpiric -v tune" in done.stderr) == (64, True)


def starts_commands(function: ast.AST) -> bool:
    """Return whether a function starts a process itself."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_run = node.func.attr == "run" and ast.unparse(node.func.value) == "subprocess"
            if is_run or node.func.attr in STARTS:
                return True
    return False


def test_every_function_that_starts_a_command_logs_it():
    """The keeper and its helpers run in a process without a log."""
    internal = {"_start", "begin"}
    silent = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and starts_commands(node) and node.name not in internal:
                called = {ast.unparse(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
                if not called & {"log_start", "_log_start"}:
                    silent.append(f"{path.name}:{node.name}")
    assert silent == []
