"""Short commands that accompany a program, without input and with captured output; preparation of launches.

Before a launch, files for ranks to read are written and layouts of directories are set.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mpiric.host.command_log import log_start
from mpiric.host.owned_files import write_whole
from mpiric.model.job import Launch
from mpiric.model.quoting import sh_command

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
        ["/bin/sh", "-c", command], directory=directory, environment=environment, limit_s=limit_s, enter=enter
    )


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of stderr, or of stdout if stderr is empty; "" without output."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else ""


def first_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the first line of stderr, or of stdout if stderr is empty; usage texts begin with the error."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[0] if lines else ""


_LIMIT_S = 60.0  # limit of a command; it hangs if the servers of the file system are down


def make_ready(
    launch: Launch, environment: Mapping[str, str], directory: str | Path, layer: str | Path = ""
) -> str:
    """Prepare a launch in ``directory``; return a sentence about the first failure, "" without one.

    ``layer`` receives the files of the working directory if that is laid over the user's.
    """
    try:
        for path, text in launch.files.items():
            _write(Path(layer or directory) / path, text)
    except OSError as error:
        return f"{error.filename}, which ranks are to read, cannot be written: {error.strerror}"
    for command in launch.prepare:
        if complaint := _run(command, environment, directory):
            return complaint
    return ""


def target_outside(launch: Launch, directory: Path) -> str:
    """Return the first target of the launch's commands that links lead out of a directory; "" if none."""
    inside = directory.resolve()
    named = dict.fromkeys(command[-1] for command in launch.prepare)
    return next((path for path in named if not (directory / path).resolve().is_relative_to(inside)), "")


def _write(path: Path, text: str) -> None:
    """Write a file atomically, because a rank of another run may be reading it."""
    with suppress(OSError):
        if path.read_text(encoding="utf-8") == text:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())


def _run(command: tuple[str, ...], environment: Mapping[str, str], directory: str | Path) -> str:
    failure = f"`{sh_command(command)}` cannot be carried out"
    try:
        done = run_captured(command, directory=directory, environment=environment, limit_s=_LIMIT_S)
    except FileNotFoundError:
        return f"{failure}: {command[0]} is not there"
    except OSError as error:
        return f"{failure}: {error.strerror}"
    except CommandLate:
        return f"{failure}: no answer in {_LIMIT_S:.0f} s"
    return "" if done.returncode == 0 else f"{failure}: {first_line(done) or f'status {done.returncode}'}"
