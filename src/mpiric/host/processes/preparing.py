"""What must be done before a launch: files for its ranks to read, layouts of directories."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mpiric.host.owned_files import write_whole
from mpiric.host.processes.captured import CommandLate, first_line, run_captured
from mpiric.model.launch import Launch
from mpiric.model.quoting import sh_command

_LIMIT_S = 60.0  # of a command; a file system whose servers are away answers nothing at all


def make_ready(launch: Launch, environment: Mapping[str, str], directory: str | Path) -> str:
    """Do it in ``directory``; a sentence on what cannot be done, "" when all is."""
    try:
        for path, text in launch.files.items():
            _write(Path(path), text)
    except OSError as error:
        return f"{error.filename}, which ranks are to read, cannot be written: {error.strerror}"
    for command in launch.prepare:
        if complaint := _run(command, environment, directory):
            return complaint
    return ""


def leads_out(launch: Launch, directory: Path) -> str:
    """What a launch's commands name last that lies outside a directory, by links; "" where nothing does."""
    inside = directory.resolve()
    named = dict.fromkeys(command[-1] for command in launch.prepare)
    return next((path for path in named if not (directory / path).resolve().is_relative_to(inside)), "")


def _write(path: Path, text: str) -> None:
    """Write it in one step: a rank of another run may be reading."""
    with suppress(OSError):
        if path.read_text(encoding="utf-8") == text:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())


def _run(command: tuple[str, ...], environment: Mapping[str, str], directory: str | Path) -> str:
    words = f"`{sh_command(command)}` cannot be carried out"
    try:
        done = run_captured(command, directory=directory, environment=environment, limit_s=_LIMIT_S)
    except FileNotFoundError:
        return f"{words}: {command[0]} is not there"
    except OSError as error:
        return f"{words}: {error.strerror}"
    except CommandLate:
        return f"{words}: no answer in {_LIMIT_S:.0f} s"
    return "" if done.returncode == 0 else f"{words}: {first_line(done) or f'status {done.returncode}'}"
