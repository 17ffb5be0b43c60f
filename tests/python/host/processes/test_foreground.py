"""A program in the foreground: its status, its output, its signals."""

import os
import signal
import sys
import threading
import time

import pytest

from mpiric.host.processes.foreground import Output, run_in_foreground
from mpiric.model.errors import NotFoundError
from mpiric.model.job import Launch


def run(tmp_path, *argv, output=Output.STDOUT, **changed):
    return run_in_foreground(Launch(argv, str(tmp_path), **changed), dict(os.environ), output)


def test_the_exit_status_is_the_programs_own(tmp_path):
    assert run(tmp_path, "sh", "-c", "exit 7").status == 7


def test_a_program_ended_by_a_signal_has_the_status_a_shell_gives_it(tmp_path):
    assert run(tmp_path, "sh", "-c", "kill -9 $$").status == 128 + signal.SIGKILL


def test_the_program_is_looked_at_before_it_is_ended_at_its_limit(tmp_path):
    looks = []

    def end_after(limit_s, *argv):
        launch = Launch(argv, str(tmp_path))
        before_end = lambda: looks.append((tmp_path / "ended").exists())  # noqa: E731
        return run_in_foreground(
            launch, dict(os.environ), Output.STDOUT, limit_s, before_end=before_end
        ).was_ended

    assert not end_after(20, "true")
    assert looks == []
    assert end_after(0.5, "sh", "-c", "trap 'touch ended; exit' TERM; sleep 60 & wait")
    assert looks == [False]


def test_output_can_be_kept_off_stdout(tmp_path, capfd):
    run(tmp_path, "echo", "words", output=Output.STDERR)
    assert capfd.readouterr() == ("", "words\n")


def test_a_program_runs_in_its_directory_with_its_variables(tmp_path, capfd):
    run(tmp_path, "sh", "-c", "echo $PWD $A ${HOME-unset}", environment={"A": "1"}, unset=("HOME",))
    assert capfd.readouterr().out == f"{tmp_path} 1 unset\n"


def test_a_signal_is_passed_on_to_the_program(tmp_path):
    script = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
    script += f"open({str(tmp_path / 'ready')!r}, 'w')\ntime.sleep(60)"

    def send() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=send).start()
    assert run(tmp_path, sys.executable, "-c", script).status == 9


def test_a_missing_launcher_is_named(tmp_path):
    with pytest.raises(NotFoundError, match="no-such-launcher"):
        run(tmp_path, "no-such-launcher")
