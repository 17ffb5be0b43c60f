"""The processes of one launch: reaping them as they end, and ending all of them.

The keeper is a child subreaper, so whatever a launch starts stays below it: a daemon that forks
twice and opens its own session becomes the keeper's child the moment its parent ends. "No child
left" therefore means that nothing of the launch is left.
"""

import os
import select
import signal
import time
from collections.abc import Callable

from mpiric.host.processes.proc import carrying, children, descendants, name_of, signal_one

_ALL_AFTER = 0.6  # share of the grace after which every process is asked, not only the launcher
_ROUNDS = 50  # of stopping what has appeared since the round before
_GIVE_UP_S = 5.0  # after SIGKILL: what is still there then is stuck in the kernel


class Bell:
    """Wakes a poll when a child ends or a signal arrives; as exact as a pidfd, and on any kernel."""

    def __init__(self) -> None:
        self.descriptor, self._writing = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._writing, False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is mpiric's to hear; it says what to do
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)

    def wait(self, timeout_s: float) -> None:
        """Wait until a child ends or a signal arrives, at most for the time given."""
        select.select([self.descriptor], [], [], timeout_s)
        self.hear()

    def hear(self) -> set[int]:
        """Numbers of the signals received since the last call."""
        heard: set[int] = set()
        try:
            while piece := os.read(self.descriptor, 4096):
                heard.update(piece)
        except BlockingIOError:
            pass
        return heard


class Tree:
    """What one launch started, from its first process to its last."""

    def __init__(self, pid: int) -> None:
        self.pid = pid  # of the launch itself
        self.status: int | None = None  # as waitpid gives it, once the launch has ended
        self.alone = False  # no child is left
        self.user_s = self.system_s = 0.0
        self.minor_faults = self.major_faults = 0
        self.voluntary_switches = self.involuntary_switches = 0
        self.rss_peak_bytes = 0  # of the largest single process
        self.pids = {pid}  # every process met while ending it

    def reap(self) -> None:
        """Take the status and the resource usage of every child that has ended.

        What a process used includes what its own children used, once it has waited for them; what it
        did not wait for comes to us. Together they are the whole tree.
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

    def wait_for_helpers(self, bell: Bell, patience_s: float) -> list[str]:
        """Give helpers a moment after the launch has ended; names of the processes that stay."""
        until = time.monotonic() + patience_s
        self.reap()
        while not self.alone and (left := until - time.monotonic()) > 0:
            bell.wait(left)
            self.reap()
        return [] if self.alone else sorted({name_of(pid) for pid in descendants(os.getpid())})

    def end(self, bell: Bell, grace: Callable[[], float], mark: tuple[str, str]) -> list[str]:
        """End everything by SIGTERM, then SIGKILL; names of what could not be ended.

        ``grace`` tells, in seconds and anew each time, how long asking may take.

        First our own children are asked with SIGTERM, because a launcher that is asked ends its
        ranks properly, on other nodes too; when a shell around it ends first, the launcher becomes
        our child and is asked next. Later every process is asked, and after the grace killed.
        """
        begun = time.monotonic()
        signalled: set[int] = set()
        self.reap()
        while not self.alone:
            elapsed, grace_s = time.monotonic() - begun, grace()
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
                _signal(chosen, signal.SIGCONT)  # a stopped process hears nothing else
            bell.wait(0.03)
            self.reap()
        return _end_marked(mark)


def _kill_all() -> set[int]:
    """Kill every descendant; all are stopped first, so that none can start another meanwhile."""
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


def _end_marked(mark: tuple[str, str]) -> list[str]:
    """End ranks on this node that are not our descendants (srun): a moment to go, then SIGKILL."""
    until = time.monotonic() + 1.0
    while pids := carrying(*mark):
        if time.monotonic() > until + _GIVE_UP_S:
            return sorted({name_of(pid) for pid in pids})
        if time.monotonic() > until:
            _signal(pids, signal.SIGKILL)
        time.sleep(0.03)
    return []
