"""Preparation of launches: files for ranks to read, layouts of directories."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mpiric.host.owned_files import write_whole
from mpiric.host.processes.captured import CommandLate, first_line, run_captured
from mpiric.model.launch import Launch
from mpiric.model.quoting import sh_command

_LIMIT_S = 60.0  # limit of a command; it hangs if the servers of the file system are down


def make_ready(launch: Launch, environment: Mapping[str, str], directory: str | Path) -> str:
    """Prepare a launch in ``directory``; return a sentence about the first failure, "" without one."""
    try:
        for path, text in launch.files.items():
            _write(Path(path), text)
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
