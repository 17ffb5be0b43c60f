"""Running a Launch in the foreground: input, output and signals are the program's own."""

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from mpiric.host.command_log import log_end, log_start
from mpiric.host.processes.overhearing import Overhearing
from mpiric.host.processes.proc import read_bytes
from mpiric.host.processes.strays import end_marked, mark_of
from mpiric.model.errors import NotFoundError
from mpiric.model.launch import Launch

_GRACE_S = 10.0  # Open MPI and Hydra give their own ranks a few seconds between SIGTERM and SIGKILL
_MARK = "MPIRIC_LIMITED"  # in the environment of every process of a launch that may have to be ended
_LAUNCH_NUMBERS = itertools.count(1)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_PASSED_ON = (
    *_ENDING,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXCPU,
    signal.SIGTSTP,
    signal.SIGCONT,
    signal.SIGWINCH,
)
_FROM_KERNEL = 0x80  # si_code of a signal of the terminal, or of a limit of this process


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

    Signals reach the launcher as without mpiric: a signal to this process alone is passed on; a signal to
    the process group, by the terminal or by ``kill -PGID``, has reached the launcher, which is in the same
    group, already. When the launcher is stopped, so is this process. Descriptors that this process has
    inherited are inherited by the launch.
    At the limit the launcher is asked to end, and what it leaves on this node is ended after it.
    """
    whole = {name: value for name, value in environment.items() if name not in launch.unset}
    whole.update(launch.environment)
    mark = mark_of(os.getpid(), next(_LAUNCH_NUMBERS))
    if limit_s is not None:
        whole[_MARK] = mark
    sys.stdout.flush()
    sys.stderr.flush()
    overhearing = overhearing or Overhearing(None, through_launcher=True)
    # Blocked before the first thread starts, or signals would be delivered there.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    try:
        begun = time.monotonic()
        log_start(
            launch.argv, launch.working_directory, {**dict.fromkeys(launch.unset), **launch.environment}
        )
        try:
            process = subprocess.Popen(
                list(launch.argv),
                cwd=launch.working_directory,
                env=whole,
                stdout=sys.stderr.fileno() if output is Output.STDERR else overhearing.stdout,
                close_fds=False,
                preexec_fn=lambda: _as_the_shell_set_them(unblocked),
            )
        except OSError as error:
            raise NotFoundError(f"cannot start {launch.argv[0]}: {error.strerror}") from error
        with _GroupWitness() as witness:
            overhearing.begin()
            until = None if limit_s is None else begun + limit_s
            was_asked_to_end = _wait(process, until, witness)
        elapsed_s = time.monotonic() - begun  # a launcher may take seconds to end its ranks at the limit
        was_ended = process.returncode is None
        status = _end(process, mark) if was_ended else process.returncode
        log_end(launch.argv, status, elapsed_s)
        overhearing.end()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
    return Ran(128 - status if status < 0 else status, elapsed_s, was_ended, was_asked_to_end)


class _GroupWitness:
    """A process of this process group that lets every signal wait: those in it were sent to the whole group.

    The sender of a signal and its ``siginfo`` do not say whether it went to one process or to the group.
    """

    def __enter__(self) -> "_GroupWitness":
        reading, self._writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
                    if int(name) != reading:  # nobody must wait for the witness to close a pipe
                        with suppress(OSError):
                            os.close(int(name))
                os.read(reading, 1)  # returns when this process ends
            finally:
                os._exit(0)
        os.close(reading)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._writing)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def take(self) -> set[int]:
        """Numbers of the signals that were sent to the group since the last call."""
        with suppress(OSError):
            # Changes nothing, but the kernel first completes a signal that is on its way to the group.
            os.setpgid(0, os.getpgrp())
        pending = re.search(rb"^ShdPnd:\s*([0-9a-f]+)", read_bytes(f"/proc/{self._pid}/status"), re.M)
        mask = int(pending[1], 16) if pending else 0
        if mask:
            self.__exit__()
            self.__enter__()
        return {number for number in _PASSED_ON if mask & 1 << (number - 1)}


def _wait(process: subprocess.Popen[bytes], until: float | None, witness: _GroupWitness) -> bool:
    """Wait for the launcher or the time, passing signals on; whether one of them asked to end."""
    was_asked_to_end = False
    awaited = {*_PASSED_ON, signal.SIGCHLD}
    while process.poll() is None:
        if until is None:
            received: signal.struct_siginfo | None = signal.sigwaitinfo(awaited)
        else:
            received = signal.sigtimedwait(awaited, max(0.0, until - time.monotonic()))
        if received is None:
            break
        if received.si_signo == signal.SIGCHLD:
            _stop_with(process)
            continue
        signals = [received]
        while further := signal.sigtimedwait(_PASSED_ON, 0):
            signals.append(further)
        sent_to_group = witness.take()
        for one in signals:
            was_asked_to_end = was_asked_to_end or one.si_signo in _ENDING
            has_reached_launcher = one.si_signo in sent_to_group or one.si_code == _FROM_KERNEL
            if not has_reached_launcher and process.poll() is None:
                process.send_signal(one.si_signo)
    while late := signal.sigtimedwait(_PASSED_ON, 0):  # late signals must not end mpiric
        was_asked_to_end = was_asked_to_end or late.si_signo in _ENDING
    return was_asked_to_end


def _as_the_shell_set_them(unblocked: Iterable[int]) -> None:
    """Unblock signals in the launcher; handlers of Python must not take any before exec."""
    for number in _PASSED_ON:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)


def _stop_with(process: subprocess.Popen[bytes]) -> None:
    """Stop this process when the launcher has been stopped, so that the shell has its terminal back."""
    if process.poll() is not None or not os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG):
        return
    if signal.SIGCONT not in signal.sigpending():
        os.kill(os.getpid(), signal.SIGSTOP)


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
