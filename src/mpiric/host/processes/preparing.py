"""What must be done before a launch: files for its ranks to read, layouts of directories."""

import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mpiric.model.launch import Launch

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
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def _run(command: tuple[str, ...], environment: Mapping[str, str], directory: str | Path) -> str:
    words = f"`{shlex.join(command)}` cannot be carried out"
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=dict(environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except FileNotFoundError:
        return f"{words}: {command[0]} is not there"
    except OSError as error:
        return f"{words}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{words}: no answer in {_LIMIT_S:.0f} s"
    if done.returncode == 0:
        return ""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return f"{words}: {lines[-1] if lines else f'status {done.returncode}'}"
