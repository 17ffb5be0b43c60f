"""Short commands of users or knobs that accompany a program: without input, with captured output."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mpiric.host.command_log import log_start

CommandLate = subprocess.TimeoutExpired  # exception for a command that exceeded its time limit


def run_captured(
    argv: Sequence[str],
    *,
    directory: str | Path,
    environment: Mapping[str, str],
    limit_s: float,
    enter: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory; ``enter`` replaces chdir if the directory is only visible in a mount.

    Raises OSError if the command cannot be started, `CommandLate` after ``limit_s``.
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
    """Run a shell command line; the arguments are as for `run_captured`."""
    return run_captured(
        ["/bin/sh", "-c", command],
        directory=directory,
        environment=environment,
        limit_s=limit_s,
        enter=enter,
    )


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of stderr, or of stdout if stderr is empty; "" without output."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else ""


def first_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the first line of stderr, or of stdout if stderr is empty; usage texts begin with the error."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[0] if lines else ""
