"""Processes as /proc shows them: the few fields the keeper needs, read in microseconds.

Everything here tolerates a process that ends while it is read, and one that may not be looked at.
The keeper imports this file: no dataclasses, pathlib or typing, which cost more than the whole start.
"""
# ruff: noqa: PTH110, PTH115, PTH116, PTH208

import os

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def read_bytes(path: str) -> bytes:
    """Contents of a /proc file, empty when it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    pieces = []
    try:
        while piece := os.read(descriptor, 1 << 16):
            pieces.append(piece)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return b"".join(pieces)


class Stat:
    """Some of /proc/PID/stat, for the whole thread group; times in clock ticks."""

    __slots__ = (
        "major_faults",
        "minor_faults",
        "parent",
        "pid",
        "start_ticks",
        "state",
        "system_ticks",
        "threads",
        "user_ticks",
    )

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.minor_faults = int(fields[7])
        self.major_faults = int(fields[9])
        self.user_ticks = int(fields[11])
        self.system_ticks = int(fields[12])
        self.threads = int(fields[17])
        self.start_ticks = int(fields[19])  # since boot: with the pid it names a process for ever


def read_stat(pid: int) -> Stat | None:
    """What the kernel counts for a process; None when it is gone."""
    text = read_bytes(f"/proc/{pid}/stat")
    end = text.rfind(b")")  # the name before it may hold anything, brackets and spaces too
    fields = text[end + 2 :].split()
    return Stat(pid, fields) if len(fields) > 19 else None


def _has_children_file() -> bool:
    return os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def children(pid: int) -> list[int]:
    """The direct children of a process."""
    return _children(pid) if _has_children_file() else _children_by_scan().get(pid, [])


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [
        int(child)
        for thread in threads
        for child in read_bytes(f"/proc/{pid}/task/{thread}/children").split()
    ]


def _children_by_scan() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pid in all_pids():
        stat = read_stat(pid)
        if stat is not None:
            found.setdefault(stat.parent, []).append(pid)
    return found


def descendants(root: int) -> list[int]:
    """Every process below ``root``, parents before children.

    Reads ``/proc/PID/task/TID/children``; a kernel built without it costs one pass over /proc.
    """
    direct = _has_children_file()
    scanned = {} if direct else _children_by_scan()
    found: list[int] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop(0)
        below = _children(pid) if direct else scanned.get(pid, [])
        found += below
        waiting += below
    return found


def all_pids() -> list[int]:
    """Every process that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def program_of(pid: int) -> str:
    """The executable a process runs, "" when that may not be read."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""


def environment_of(pid: int) -> dict[bytes, bytes]:
    """The environment a process was started with; empty when it may not be read."""
    entries = read_bytes(f"/proc/{pid}/environ").split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def name_of(pid: int) -> str:
    """The short name of a process, as ``ps`` prints it."""
    return read_bytes(f"/proc/{pid}/comm").decode(errors="replace").strip()


def is_alive(pid: int) -> bool:
    """Whether the process is there and not merely waiting to be reaped."""
    stat = read_stat(pid)
    return stat is not None and stat.state not in "ZX"


def signal_one(pid: int, number: int) -> None:
    """Send a signal, unless the process is gone or not ours to end."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def carrying(name: str, value: str) -> list[int]:
    """Living processes of this user, other than our own, that were started with ``name=value``.

    Finds ranks that are no descendants: those of ``srun`` are children of slurmstepd.
    """
    mark = f"{name}={value}".encode()
    own = os.getuid()
    found = []
    for pid in all_pids():
        try:
            if os.stat(f"/proc/{pid}").st_uid != own or pid == os.getpid():
                continue
        except OSError:
            continue
        if mark in read_bytes(f"/proc/{pid}/environ").split(b"\0") and is_alive(pid):
            found.append(pid)
    return found
