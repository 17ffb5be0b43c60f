"""Execution of a launch in the foreground, with the terminal's input, output and signals."""

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum

from mpiric.host.command_log import log_end, log_start
from mpiric.host.processes.leftovers import end_marked, mark_of
from mpiric.host.processes.output_tap import OutputTap
from mpiric.host.processes.proc import read_bytes
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import NotFoundError
from mpiric.model.job import Launch

_GRACE_S = 10.0  # Open MPI and Hydra give their ranks a few seconds between SIGTERM and SIGKILL
_MARK = "MPIRIC_LIMITED"  # set in the environment of each process of a launch with a time limit
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
_FROM_KERNEL = 0x80  # si_code of a signal from the terminal, or of a limit of this process


class Output(Enum):
    """Destination of the program's standard output."""

    STDOUT = "stdout"
    STDERR = "stderr"  # if mpiric writes data to stdout


@dataclass(frozen=True)
class ForegroundResult:
    """Result of a launch; ``status`` is 128 + signal if a signal ended it, as in a shell."""

    status: int
    elapsed_s: float
    was_ended: bool = False  # ended by mpiric at the time limit; the status is then the terminated launcher's
    was_asked_to_end: bool = False  # a signal requested the end


def run_in_foreground(
    launch: Launch,
    environment: Mapping[str, str],
    output: Output,
    limit_s: float | None = None,
    output_tap: OutputTap | None = None,
    error_tap: OutputTap | None = None,
    before_end: Callable[[], None] = lambda: None,
) -> ForegroundResult:
    """Start the launch and wait for it, at most ``limit_s``. Raises NotFoundError if it cannot be started.

    Signals reach the launcher as without mpiric: a signal to this process is forwarded; a signal to the
    process group, by the terminal or by ``kill -PGID``, has already reached the launcher, which is in the
    same group. If the launcher is stopped, this process stops too. The launch inherits all inheritable
    descriptors. At the time limit ``before_end`` is called, the launcher is terminated, and then its
    remaining processes on this node.
    """
    variables = {name: value for name, value in environment.items() if name not in launch.unset}
    variables.update(launch.environment)
    mark = mark_of(os.getpid(), next(_LAUNCH_NUMBERS))
    if limit_s is not None:
        variables[_MARK] = mark
    sys.stdout.flush()
    sys.stderr.flush()
    taps = [tap or OutputTap(None, through_launcher=True) for tap in (output_tap, error_tap)]
    # Blocked before the first thread starts, or signals would be delivered there.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    try:
        start_s = time.monotonic()
        log_start(
            launch.argv, launch.working_directory, {**dict.fromkeys(launch.unset), **launch.environment}
        )
        errors = sys.stderr.fileno() if taps[1].descriptor is None else taps[1].descriptor
        try:
            process = subprocess.Popen(
                list(launch.argv),
                cwd=launch.working_directory,
                env=variables,
                stdout=errors if output is Output.STDERR else taps[0].descriptor,
                stderr=taps[1].descriptor,
                close_fds=False,
                preexec_fn=lambda: _as_the_shell_set_them(unblocked),
            )
        except OSError as error:
            raise NotFoundError(f"cannot start {launch.argv[0]}: {error.strerror}") from error
        with _GroupSignals() as group_signals:
            for tap in taps:
                tap.begin()
            until = None if limit_s is None else start_s + limit_s
            was_asked_to_end = _wait(process, until, group_signals)
        elapsed_s = time.monotonic() - start_s  # a launcher may take seconds to end its ranks at the limit
        was_ended = process.returncode is None
        if was_ended:
            before_end()
        status = _end(process, mark) if was_ended else process.returncode
        log_end(launch.argv, status, elapsed_s)
        for tap in taps:
            tap.end()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
    return ForegroundResult(128 - status if status < 0 else status, elapsed_s, was_ended, was_asked_to_end)


class _GroupSignals:
    """Process in this process group that blocks all signals; pending ones were sent to the whole group.

    Neither the sender of a signal nor its ``siginfo`` shows if it went to one process or to the group.
    """

    def __enter__(self) -> "_GroupSignals":
        reading, self._writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
                    if int(name) != reading:  # no reader may wait until this process closes a pipe
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
        """Return the numbers of the signals sent to the group since the last call."""
        with suppress(OSError):
            # No effect, but the kernel first completes a signal that is being delivered to the group.
            os.setpgid(0, os.getpgrp())
        pending = re.search(rb"^ShdPnd:\s*([0-9a-f]+)", read_bytes(f"/proc/{self._pid}/status"), re.M)
        mask = int(pending[1], 16) if pending else 0
        if mask:
            self.__exit__()
            self.__enter__()
        return {number for number in _PASSED_ON if mask & 1 << (number - 1)}


def _wait(process: subprocess.Popen[bytes], until: float | None, group_signals: _GroupSignals) -> bool:
    """Wait for the launcher or the time limit, forward signals; return whether one requested the end."""
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
        sent_to_group = group_signals.take()
        for one in signals:
            was_asked_to_end = was_asked_to_end or one.si_signo in _ENDING
            has_reached_launcher = one.si_signo in sent_to_group or one.si_code == _FROM_KERNEL
            if not has_reached_launcher and process.poll() is None:
                process.send_signal(one.si_signo)
    while late := signal.sigtimedwait(_PASSED_ON, 0):  # late signals must not end mpiric
        was_asked_to_end = was_asked_to_end or late.si_signo in _ENDING
    return was_asked_to_end


def _as_the_shell_set_them(unblocked: Iterable[int]) -> None:
    """Unblock signals in the launcher; Python handlers must not run before exec."""
    for number in _PASSED_ON:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)


def _stop_with(process: subprocess.Popen[bytes]) -> None:
    """Stop this process if the launcher was stopped, so that the shell regains the terminal."""
    if process.poll() is not None or not os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG):
        return
    if signal.SIGCONT not in signal.sigpending():
        os.kill(os.getpid(), signal.SIGSTOP)


def _end(process: subprocess.Popen[bytes], mark: str) -> int:
    """Terminate the launcher with SIGTERM and wait for it, then kill the remaining processes."""
    process.terminate()
    try:
        status = process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    end_marked(_MARK, mark, _GRACE_S)
    return status
