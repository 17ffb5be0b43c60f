"""Processes of one launch: reaping and termination.

The keeper is a child subreaper, so that all processes of a launch stay below it: a daemon that forks twice
and creates its own session becomes the keeper's child when its parent ends. If no child is left, nothing of
the launch is left.
"""

import os
import select
import signal
import time
from collections.abc import Callable

from mpiric.host.processes.proc import carrying, children, descendants, name_of, signal_one

_ALL_AFTER = 0.6  # share of the grace period after which all processes get SIGTERM, not only the launcher
_ROUNDS = 50  # maximum rounds of stopping new processes
_GIVE_UP_S = 5.0  # time after SIGKILL; remaining processes are blocked in the kernel


class Wakeup:
    """Wake-up of a poll when a child ends or a signal arrives; as precise as a pidfd, on any kernel."""

    def __init__(self) -> None:
        self.descriptor, self._writing = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._writing, False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # mpiric handles Ctrl-C and sends a request
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)

    def wait(self, timeout_s: float) -> None:
        """Wait until a child ends or a signal arrives, at most for this time."""
        select.select([self.descriptor], [], [], timeout_s)
        self.hear()

    def hear(self) -> set[int]:
        """Return the numbers of the signals received since the last call."""
        received: set[int] = set()
        try:
            while piece := os.read(self.descriptor, 4096):
                received.update(piece)
        except BlockingIOError:
            pass
        return received


class Tree:
    """Processes of one launch."""

    def __init__(self, pid: int) -> None:
        self.pid = pid  # pid of the launcher
        self.status: int | None = None  # result of waitpid after the launcher has ended
        self.alone = False  # no child is left
        self.user_s = self.system_s = 0.0
        self.minor_faults = self.major_faults = 0
        self.voluntary_switches = self.involuntary_switches = 0
        self.rss_peak_bytes = 0  # maximum over the processes
        self.pids = {pid}  # processes that were found during termination

    def reap(self) -> None:
        """Reap all children that have ended, and add their resource usage.

        The usage of a process includes its children that it has waited for; the others become children of
        the keeper. The sum covers the whole tree.
        """
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.alone = True
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = status
            self.user_s += usage.ru_utime
            self.system_s += usage.ru_stime
            self.minor_faults += usage.ru_minflt
            self.major_faults += usage.ru_majflt
            self.voluntary_switches += usage.ru_nvcsw
            self.involuntary_switches += usage.ru_nivcsw
            self.rss_peak_bytes = max(self.rss_peak_bytes, usage.ru_maxrss * 1024)

    def wait_for_helpers(self, wakeup: Wakeup, patience_s: float) -> list[str]:
        """Wait for helper processes after the launcher has ended; return the names of the remaining ones."""
        until = time.monotonic() + patience_s
        self.reap()
        while not self.alone and (remaining_s := until - time.monotonic()) > 0:
            wakeup.wait(remaining_s)
            self.reap()
        return [] if self.alone else sorted({name_of(pid) for pid in descendants(os.getpid())})

    def end(self, wakeup: Wakeup, grace: Callable[[], float], mark: tuple[str, str]) -> list[str]:
        """End all processes with SIGTERM, then SIGKILL; return the names of processes that survive.

        ``grace`` returns the current length of the grace period in seconds.

        First the direct children get SIGTERM, because a launcher then ends its ranks properly, on other
        nodes too. If a shell around it ends first, the launcher becomes a direct child and is next. Later
        all processes get SIGTERM, and SIGKILL after the grace period.
        """
        start_s = time.monotonic()
        signalled: set[int] = set()
        self.reap()
        while not self.alone:
            elapsed, grace_s = time.monotonic() - start_s, grace()
            if elapsed > grace_s + _GIVE_UP_S:
                return sorted({name_of(pid) for pid in descendants(os.getpid())})
            below = descendants(os.getpid())
            self.pids.update(below)
            if elapsed >= grace_s:
                self.pids.update(_kill_all())
            else:
                everyone = elapsed >= grace_s * _ALL_AFTER
                chosen = set(below if everyone else children(os.getpid())) - signalled
                signalled |= chosen
                _signal(chosen, signal.SIGTERM)
                _signal(chosen, signal.SIGCONT)  # stopped processes ignore other signals
            wakeup.wait(0.03)
            self.reap()
        # End ranks on this node that are not descendants (srun): wait a moment, then SIGKILL.
        until = time.monotonic() + 1.0
        while pids := carrying(*mark):
            if time.monotonic() > until + _GIVE_UP_S:
                return sorted({name_of(pid) for pid in pids})
            if time.monotonic() > until:
                _signal(pids, signal.SIGKILL)
            time.sleep(0.03)
        return []


def _kill_all() -> set[int]:
    """Kill all descendants; they are stopped first, so that they cannot start other processes."""
    met: set[int] = set()
    for _ in range(_ROUNDS):
        new = set(descendants(os.getpid())) - met
        if not new:
            break
        _signal(new, signal.SIGSTOP)
        met |= new
    _signal(met, signal.SIGKILL)
    return met


def _signal(pids: "set[int] | list[int]", number: int) -> None:
    for pid in pids:
        signal_one(pid, number)
