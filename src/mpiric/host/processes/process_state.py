"""State of a process from /proc: whether it runs, the system call it is in, its position in the program."""

import os
import platform
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

from mpiric.host.processes.proc import read_bytes, read_stat, signal_one
from mpiric.model.quoting import one_line
from mpiric.model.record import ProcessState

_STOPPING_S = 0.1  # longest wait for a process to stop
# System calls in which ranks wait, by number; those with a descriptor as the first argument come first.
_ON_A_FILE = {
    "x86_64": {0: "read", 1: "write", 19: "readv", 20: "writev", 42: "connect", 43: "accept", 45: "recvfrom",
               47: "recvmsg", 72: "fcntl", 73: "flock", 74: "fsync", 232: "epoll_wait", 281: "epoll_pwait",
               288: "accept4"},
    "aarch64": {22: "epoll_pwait", 25: "fcntl", 32: "flock", 63: "read", 64: "write", 65: "readv",
                66: "writev", 82: "fsync", 202: "accept", 203: "connect", 207: "recvfrom", 212: "recvmsg",
                242: "accept4"},
}  # fmt: skip
_OTHERS = {
    "x86_64": {7: "poll", 23: "select", 24: "sched_yield", 34: "pause", 35: "nanosleep", 61: "wait4",
               202: "futex", 230: "clock_nanosleep", 257: "openat", 270: "pselect6", 271: "ppoll"},
    "aarch64": {56: "openat", 72: "pselect6", 73: "ppoll", 98: "futex", 101: "nanosleep",
                115: "clock_nanosleep", 124: "sched_yield", 260: "wait4"},
}  # fmt: skip

Modules = list[tuple[int, int, str]]  # first address, end, and file of each mapped file


def process_state(pid: int, call_address: int = 0, *, may_stop: bool = False) -> ProcessState | None:
    """Return the state of a process; None if it has ended.

    ``call_address`` is the return address of the MPI call that it is in. ``may_stop``: a process that runs
    may be stopped for a moment, because the kernel does not show its position otherwise.
    """
    stat = read_stat(pid)
    if stat is None or stat.state in "ZX":
        return None
    fields = read_bytes(f"/proc/{pid}/syscall").split()
    if fields == [b"running"] and may_stop and not call_address:
        fields = _position_when_stopped(pid)
    name, file = _system_call(pid, fields)
    address = call_address or (int(fields[-1], 16) if len(fields) > 1 else 0)
    return ProcessState(stat.state, name, file, place_of(address, mapped_files(pid)))


def _position_when_stopped(pid: int) -> list[bytes]:
    """Return the fields of /proc/PID/syscall while the process is stopped."""
    until = time.monotonic() + _STOPPING_S
    signal_one(pid, signal.SIGSTOP)
    try:
        while time.monotonic() < until and (stat := read_stat(pid)) is not None and stat.state not in "TtZX":
            time.sleep(0.001)
        return read_bytes(f"/proc/{pid}/syscall").split()
    finally:
        signal_one(pid, signal.SIGCONT)


def _system_call(pid: int, fields: list[bytes]) -> tuple[str, str]:
    """Return the name of the system call and the file that it is about, "" for each unknown one."""
    if len(fields) < 2 or not fields[0].isdigit():
        return "", ""
    number, machine = int(fields[0]), platform.machine()
    if name := _OTHERS.get(machine, {}).get(number, ""):
        return name, ""
    name = _ON_A_FILE.get(machine, {}).get(number, "")
    return (name, _file(pid, int(fields[1], 16))) if name else (f"system call {number}", "")


def _file(pid: int, descriptor: int) -> str:
    target = ""
    with suppress(OSError):
        target = one_line(str(Path(f"/proc/{pid}/fd/{descriptor}").readlink()))
    if descriptor == 0:
        return f"standard input ({target})" if target else "standard input"
    return target


def mapped_files(pid: int) -> Modules:
    """Return the files that a process maps, in order of their addresses."""
    modules: Modules = []
    for line in os.fsdecode(read_bytes(f"/proc/{pid}/maps")).splitlines():
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ +(/.*)", line)
        if match is None:
            continue
        start, end, path = int(match[1], 16), int(match[2], 16), match[3]
        if modules and modules[-1][2] == path:
            modules[-1] = (modules[-1][0], end, path)
        else:
            modules.append((start, end, path))
    return modules


def place_of(address: int, modules: Modules) -> str:
    """Return ``path+0xoffset`` of an address, "" if no file is mapped there."""
    for start, end, path in modules:
        if start <= address < end:
            return f"{one_line(path)}+{address - start:#x}"
    return ""
