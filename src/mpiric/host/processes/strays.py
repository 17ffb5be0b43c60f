"""Ending what a killed keeper could not end, from mpiric's side."""

import os
import signal
import time

from mpiric.host.processes.proc import all_pids, carrying, environment_of, read_bytes, read_stat, signal_one

KEEPER_WORD = "mpiric-keeper"  # the last word of every keeper's command line

_POLL_S = 0.03


def end_marked(name: str, value: str, grace_s: float) -> set[int]:
    """Ask every process that carries ``name=value`` in its environment to end, then kill it.

    Returns the processes met. The kernel has sent SIGTERM to the launch itself already (PDEATHSIG).
    """
    begun = time.monotonic()
    signalled: set[int] = set()
    met: set[int] = set()
    while pids := carrying(name, value):
        met.update(pids)
        elapsed = time.monotonic() - begun
        if elapsed > grace_s + 5.0:
            break
        if elapsed >= grace_s:
            _send(pids, signal.SIGKILL)
        elif elapsed >= grace_s / 2:
            _send([pid for pid in pids if pid not in signalled], signal.SIGTERM)
            signalled.update(pids)
        time.sleep(_POLL_S)
    return met


def mark_of(pid: int, launch_number: int) -> str:
    """The mark of a launch: identity of the process that started it, and the launch's number there."""
    stat = read_stat(pid)
    return f"{pid}.{stat.start_ticks if stat else 0}.{launch_number}"


def end_abandoned(name: str) -> list[int]:
    """Kill what is left of launches whose mpiric and keeper were both killed; returns those processes.

    Only in our own process-number space: a container's numbers mean nothing outside of it.
    """
    abandoned = [pid for pid in all_pids() if _is_abandoned(pid, name)]
    _send(abandoned, signal.SIGKILL)
    return abandoned


def _is_abandoned(pid: int, name: str) -> bool:
    mark = environment_of(pid).get(name.encode(), b"").decode(errors="replace")
    words = mark.split(".")
    if len(words) != 3 or not words[0].isdigit() or not words[2].isdigit():
        return False
    if mark == mark_of(int(words[0]), int(words[2])):  # its mpiric lives
        return False
    return _number_space(pid) == _number_space(os.getpid()) and not _is_kept(pid)


def _number_space(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115
    except OSError:
        return f"unknown of {pid}"


def _is_kept(pid: int) -> bool:
    """Whether a living keeper is above a process, and will end it."""
    while (stat := read_stat(pid)) is not None and stat.parent > 1:
        pid = stat.parent
        if read_bytes(f"/proc/{pid}/cmdline").rstrip(b"\0").endswith(KEEPER_WORD.encode()):
            return True
    return False


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        signal_one(pid, number)
