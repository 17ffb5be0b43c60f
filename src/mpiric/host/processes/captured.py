"""Commands that a user, or a knob, has mpiric run beside a program: without input, their output captured."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mpiric.host.command_log import log_start

CommandLate = subprocess.TimeoutExpired  # a command that was ended at its limit


def run_captured(
    argv: Sequence[str],
    *,
    directory: str | Path,
    environment: Mapping[str, str],
    limit_s: float,
    enter: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory, which ``enter`` goes to where that needs more than its path.

    Raises OSError where it cannot be started, `CommandLate` after ``limit_s``.
    """
    log_start(argv, directory)
    return subprocess.run(
        argv,
        cwd=None if enter else directory,
        preexec_fn=enter,
        env=dict(environment),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def run_in_shell(
    command: str,
    *,
    directory: str | Path,
    environment: Mapping[str, str],
    limit_s: float,
    enter: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command line by ``sh``, otherwise as `run_captured` does."""
    return run_captured(
        ["/bin/sh", "-c", command],
        directory=directory,
        environment=environment,
        limit_s=limit_s,
        enter=enter,
    )


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that a command wrote, of stderr before stdout; "" of a silent one."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else ""


def first_line(done: subprocess.CompletedProcess[str]) -> str:
    """The first line that a command wrote, of stderr before stdout: its usage may follow what is wrong."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[0] if lines else ""
