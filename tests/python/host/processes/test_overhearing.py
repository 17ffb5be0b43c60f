"""Listening to a program's output, in a process whose standard output is what a user's would be."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from mpiric.host.processes.foreground import Output, run_in_foreground
from mpiric.host.processes.output_tap import OutputTap
from mpiric.model.job import Launch
heard = []
launch = Launch(("sh", "-c", sys.argv[1]), "/")
ran = run_in_foreground(launch, {"PATH": "/bin:/usr/bin"}, Output.STDOUT,
                        output_tap=OutputTap(heard.append, through_launcher=False))
print(b"".join(heard).decode(), end="", file=sys.stderr)
sys.exit(ran.status)
"""


def run(program: str, **options):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, program], stderr=subprocess.PIPE, timeout=60, check=False, **options
    )


def test_output_into_a_pipe_is_read_and_forwarded() -> None:
    done = run("seq 1 50000; exit 7", stdout=subprocess.PIPE)
    assert done.returncode == 7
    assert done.stdout == done.stderr == "".join(f"{n}\n" for n in range(1, 50001)).encode()


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_output_to_a_file_is_copied_and_stays_in_the_file(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"before\n")
    with path.open(mode) as file:
        done = run("echo hello", stdout=file)
    assert done.stderr == b"hello\n"
    assert path.read_bytes() == (b"before\nhello\n" if mode == "ab" else b"hello\n")


def test_a_background_process_that_keeps_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = f"echo now; sleep 60 & echo $! > {shlex.quote(str(pid))}; exit 3"
    line = [sys.executable, "-c", SCRIPT, program]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(50) == 3
        os.kill(int(pid.read_text()), signal.SIGKILL)  # it is still there
        assert process.stderr is not None
        assert process.stderr.read() == b"now\n"
