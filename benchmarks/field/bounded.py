"""Commands that end: after a limit, the command is ended with every process that it has started."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Timer

from mpiric.model.errors import MpiricError

_GRACE_S = 20.0  # between SIGTERM and SIGKILL: a launcher ends its ranks in this time


@dataclass(frozen=True)
class Ended:
    """Exit status and output of a command."""

    status: int
    stdout: str
    stderr: str


def run_bounded(
    argv: Sequence[str], directory: Path, environment: Mapping[str, str], limit_s: float
) -> Ended:
    """Run a command. Raises MpiricError when it does not end within the limit.

    Output goes into files: a process that outlives the command would keep a pipe open.
    """
    with TemporaryFile() as stdout, TemporaryFile() as stderr:
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        is_late = Event()

        def stop() -> None:
            is_late.set()
            _end(process)

        limit = Timer(limit_s, stop)
        limit.start()
        try:
            process.wait()  # without a limit: with one, Python looks only every 50 ms
        finally:
            limit.cancel()
            _end(process)
        if is_late.is_set():
            raise MpiricError(f"{argv[0]} was stopped after {limit_s:g} s")
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Ended(process.returncode, *texts)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command's process group, whether the command itself is still there or not."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
