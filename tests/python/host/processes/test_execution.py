"""A launch that ends by itself: its status, time, files and environment."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.errors import MpiricError, NoRoomError
from mpiric.model.job import Launch
from mpiric.model.run import Outcome


def test_a_program_that_ends_well_is_ok(bench):
    assert bench.run("true").outcome is Outcome.OK


@pytest.mark.parametrize("status", [1, 77, 255])
def test_the_exit_status_is_exact(bench, status):
    assert bench.run("sh", "-c", f"exit {status}").exit_status == status


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGPIPE, signal.SIGXFSZ])
def test_a_signal_is_a_negative_status(bench, number):
    assert bench.run("sh", "-c", f"kill -{int(number)} $$").exit_status == -number


def test_the_signal_is_named_in_the_reason(bench):
    assert bench.run("sh", "-c", "kill -SEGV $$").reason == "ended by signal SIGSEGV"


def test_the_wall_time_is_that_of_the_program(bench):
    walls = [bench.run("sleep", "0.2").wall_s for _ in range(5)]
    assert 0.2 <= min(walls) < 5


def test_output_and_errors_go_to_their_own_files(bench):
    bench.run("sh", "-c", "echo out; echo err >&2")
    assert (bench.stdout, (bench.path / "stderr").read_text()) == ("out\n", "err\n")


def test_output_and_errors_may_share_a_file(bench):
    launch = Launch(("sh", "-c", "echo out; echo err >&2"), "")
    both = bench.path / "both"
    bench.runner.execute(launch, bench.environment, Workspace(bench.path, both, both), 30)
    assert both.read_text() == "out\nerr\n"


def test_stdin_is_empty_unless_a_file_is_given(bench):
    bench.run("cat")
    assert bench.stdout == ""


def test_stdin_comes_from_the_file_of_the_launch(bench):
    (bench.path / "input").write_text("abc")
    bench.run("cat", stdin=str(bench.path / "input"))
    assert bench.stdout == "abc"


def test_a_program_named_relative_to_its_directory_is_found_there(bench):
    inner = bench.path / "inner"
    inner.mkdir()
    (inner / "app").write_text("#!/bin/sh\npwd\n")
    (inner / "app").chmod(0o755)
    bench.run("./app", directory=inner)
    assert bench.stdout.strip() == str(inner)


def test_a_script_without_an_interpreter_line_runs_as_in_a_shell(bench):
    (bench.path / "app").write_text("echo plain $1\n")
    (bench.path / "app").chmod(0o755)
    bench.run("./app", "words")
    assert bench.stdout == "plain words\n"


def test_pwd_follows_the_directory(bench):
    bench.environment["PWD"] = "/somewhere/else"
    bench.run("printenv", "PWD")
    assert bench.stdout.strip() == str(bench.path)


def test_a_variable_that_the_launch_unsets_is_absent(bench):
    bench.environment["TO_GO"] = "1"
    launch = Launch(("sh", "-c", "echo ${TO_GO-gone}"), "", unset=("TO_GO",))
    workspace = Workspace(bench.path, bench.path / "stdout", os.devnull)
    bench.runner.execute(launch, bench.environment, workspace, 30)
    assert bench.stdout == "gone\n"


def test_bytes_that_are_not_text_pass_through_the_environment(bench):
    bench.environment["ODD"] = os.fsdecode(b"\xff\xfe")
    bench.run("sh", "-c", 'printf %s "$ODD"')
    assert (bench.path / "stdout").read_bytes() == b"\xff\xfe"


def signals_blocked_and_ignored(status: str) -> tuple[int, int]:
    blocked, ignored = (int(line.split()[1], 16) for line in status.splitlines())
    return blocked, ignored


def test_signals_are_handled_as_a_shell_would_leave_them(bench):
    ask = ("grep", "-E", "SigIgn|SigBlk", "/proc/self/status")
    bench.run(*ask)
    blocked, ignored = signals_blocked_and_ignored(bench.stdout)
    # Whoever started the tests may ignore some, as `nohup` and `&` do.
    plain = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    assert (blocked, ignored & ~signals_blocked_and_ignored(plain)[1]) == (0, 0)


def test_no_descriptor_of_the_keeper_reaches_the_program(bench):
    bench.run("ls", "-l", "/proc/self/fd")
    assert "/dev/null" in bench.stdout
    assert "pipe:" not in bench.stdout


def test_a_missing_program_is_refused(bench):
    execution = bench.run("no-such-program-anywhere")
    assert (execution.outcome, execution.reason) == (
        Outcome.REFUSED,
        "could not be started: no-such-program-anywhere: No such file or directory",
    )


def test_a_program_that_may_not_be_executed_is_refused(bench):
    (bench.path / "app").write_text("echo\n")
    assert bench.run("./app").reason == "could not be started: ./app: Permission denied"


def test_the_keeper_serves_on_after_a_refusal(bench):
    bench.run("no-such-program-anywhere")
    assert bench.run("true").outcome is Outcome.OK


def test_a_missing_working_directory_is_an_error(bench):
    with pytest.raises(MpiricError, match="working directory is gone"):
        bench.run("true", directory=bench.path / "gone")


def test_output_that_cannot_be_opened_is_an_error_with_a_hint(bench):
    workspace = Workspace(bench.path, bench.path / "no/such", os.devnull)
    with pytest.raises(NoRoomError) as raised:
        bench.runner.execute(Launch(("true",), ""), {}, workspace, 30)
    assert raised.value.hint


def test_resources_of_the_whole_tree_are_added_up(bench):
    work = "x = 0\nwhile __import__('time').process_time() < 0.2: x += 1\n"
    (bench.path / "work.py").write_text(work)
    execution = bench.python(
        "import subprocess, sys\n"
        "for p in [subprocess.Popen([sys.executable, 'work.py']) for _ in range(2)]: p.wait()\n"
    )
    assert execution.usage.user_s + execution.usage.system_s >= 0.4


def test_resources_of_an_orphan_are_counted(bench):
    execution = bench.python(
        "import os, pathlib, time\n"
        "done = pathlib.Path('done')\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        while time.process_time() < 0.3: pass\n"
        "        done.touch()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "while not done.exists(): time.sleep(0.01)\n"
    )
    assert execution.usage.user_s + execution.usage.system_s >= 0.3


def test_the_memory_peak_is_that_of_the_largest_process(bench):
    execution = bench.python("import os\nos.fork()\nx = bytearray(100 << 20)\n")
    assert 100 << 20 <= execution.rss_peak_bytes < 200 << 20


def test_a_program_that_prints_too_much_is_ended_with_the_reason(bench):
    with Runner(grace_s=1.0, output_limit_bytes=1 << 20) as runner:
        launch = Launch(("sh", "-c", "exec yes"), "")
        execution = runner.execute(
            launch,
            bench.environment,
            Workspace(bench.path, bench.path / "stdout", bench.path / "stderr"),
            60,
        )
    assert (execution.outcome, execution.reason) == (
        Outcome.FAILED,
        "printed more than 1 MiB, and was ended",
    )


def test_two_runners_work_at_once(bench, tmp_path):
    def run_named(name: str, executions: dict[str, str]) -> None:
        with Runner() as runner:
            launch = Launch(("sh", "-c", f"sleep 0.3; echo {name}"), "")
            runner.execute(launch, bench.environment, Workspace(tmp_path, tmp_path / name, os.devnull), 60)
        executions[name] = (tmp_path / name).read_text()

    executions: dict[str, str] = {}
    threads = [threading.Thread(target=run_named, args=(name, executions)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert executions == {"a": "a\n", "b": "b\n"}


def test_the_users_python_settings_do_not_reach_the_keeper(bench, monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    monkeypatch.setenv("PYTHONSTARTUP", "/nowhere")
    monkeypatch.setenv("LD_PRELOAD", "")
    assert bench.run("true").outcome is Outcome.OK


def test_closing_ends_the_keeper(bench, eventually):
    bench.run("true")
    keeper = bench.runner._keeper.pid
    bench.runner.close()
    assert not Path(f"/proc/{keeper}").exists()
