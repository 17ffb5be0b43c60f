"""Running a Launch in the foreground: input, output and signals are the program's own."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from types import FrameType

from mpiric.host.processes.interrupts import put_back
from mpiric.host.processes.overhearing import Overhearing
from mpiric.host.processes.strays import end_marked, mark_of
from mpiric.model.errors import NotFoundError
from mpiric.model.launch import Launch

_GRACE_S = 10.0  # Open MPI and Hydra give their own ranks a few seconds between SIGTERM and SIGKILL
_MARK = "MPIRIC_LIMITED"  # in the environment of every process of a launch that may have to be ended
_LAUNCH_NUMBERS = itertools.count(1)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Output(Enum):
    """Where the standard output of the program goes."""

    STDOUT = "stdout"
    STDERR = "stderr"  # when mpiric's own data is on stdout


@dataclass(frozen=True)
class Ran:
    """A launch that has ended; ``status`` as a shell has it, 128 + signal for one that a signal ended."""

    status: int
    elapsed_s: float
    was_ended: bool = False  # at the time limit, by us; the status then is that of a launcher told to stop
    was_asked_to_end: bool = False  # by a signal from outside


def run_in_foreground(
    launch: Launch,
    environment: Mapping[str, str],
    output: Output,
    limit_s: float | None = None,
    overhearing: Overhearing | None = None,
) -> Ran:
    """Start the launch and wait for it, at most ``limit_s``. Raises NotFoundError when it cannot be started.

    Ctrl-C reaches the launcher from the terminal and is left to it; other signals are passed on. At the
    limit the launcher is asked to end, and what it leaves on this node is ended after it.
    """
    whole = {name: value for name, value in environment.items() if name not in launch.unset}
    whole.update(launch.environment)
    mark = mark_of(os.getpid(), next(_LAUNCH_NUMBERS))
    if limit_s is not None:
        whole[_MARK] = mark
    sys.stdout.flush()
    sys.stderr.flush()
    overhearing = overhearing or Overhearing(None, through_launcher=True)
    begun = time.monotonic()
    try:
        process = subprocess.Popen(
            list(launch.argv),
            cwd=launch.working_directory,
            env=whole,
            stdout=sys.stderr.fileno() if output is Output.STDERR else overhearing.stdout,
        )
    except OSError as error:
        raise NotFoundError(f"cannot start {launch.argv[0]}: {error.strerror}") from error
    was_ended = False
    overhearing.begin()
    with _passing_on(process) as asked:
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            was_ended = True
            status = _end(process, mark)
        elapsed_s = time.monotonic() - begun
        overhearing.end()
    return Ran(128 - status if status < 0 else status, elapsed_s, was_ended, bool(asked))


def _end(process: subprocess.Popen[bytes], mark: str) -> int:
    """End by SIGTERM, with time for the launcher to end its ranks, then SIGKILL whatever is left."""
    process.terminate()
    try:
        status = process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    end_marked(_MARK, mark, _GRACE_S)
    return status


@contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Pass signals on meanwhile; those of them that ask to end."""
    asked: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        if number in _ENDING:
            asked.append(number)
        if process.poll() is None:
            os.kill(process.pid, number)

    def leave_it(number: int, _: FrameType | None) -> None:
        """Pass SIGINT over: the terminal has sent it to the whole process group."""
        asked.append(number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, leave_it)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            put_back(number, handler)
