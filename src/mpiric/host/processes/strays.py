"""Termination of processes that a killed keeper could not end, from mpiric's process."""

import os
import signal
import time

from mpiric.host.processes.proc import all_pids, carrying, environment_of, read_bytes, read_stat, signal_one

KEEPER_WORD = "mpiric-keeper"  # last argument of every keeper's command line

_POLL_S = 0.03


def end_marked(name: str, value: str, grace_s: float) -> set[int]:
    """Terminate all processes whose environment contains ``name=value``, first with SIGTERM, then SIGKILL.

    Returns the processes. The kernel has already sent SIGTERM to the launcher itself (PDEATHSIG).
    """
    start_s = time.monotonic()
    signalled: set[int] = set()
    met: set[int] = set()
    while pids := carrying(name, value):
        met.update(pids)
        elapsed = time.monotonic() - start_s
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
    """Return the mark of a launch: identity of the process that started it, and number of the launch."""
    stat = read_stat(pid)
    return f"{pid}.{stat.start_ticks if stat else 0}.{launch_number}"


def end_abandoned(name: str) -> list[int]:
    """Kill processes of launches whose mpiric and keeper were both killed; return them.

    Only processes of the same pid namespace are considered.
    """
    abandoned = [pid for pid in all_pids() if _is_abandoned(pid, name)]
    _send(abandoned, signal.SIGKILL)
    return abandoned


def _is_abandoned(pid: int, name: str) -> bool:
    mark = environment_of(pid).get(name.encode(), b"").decode(errors="replace")
    fields = mark.split(".")
    if len(fields) != 3 or not fields[0].isdigit() or not fields[2].isdigit():
        return False
    if mark == mark_of(int(fields[0]), int(fields[2])):  # its mpiric is still running
        return False
    return _number_space(pid) == _number_space(os.getpid()) and not _is_kept(pid)


def _number_space(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115
    except OSError:
        return f"unknown of {pid}"


def _is_kept(pid: int) -> bool:
    """Return whether a living keeper is an ancestor of a process, which will end it."""
    while (stat := read_stat(pid)) is not None and stat.parent > 1:
        pid = stat.parent
        if read_bytes(f"/proc/{pid}/cmdline").rstrip(b"\0").endswith(KEEPER_WORD.encode()):
            return True
    return False


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        signal_one(pid, number)
