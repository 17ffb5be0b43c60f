"""Process information from /proc, limited to the fields that the keeper needs; takes microseconds.

All functions tolerate processes that end meanwhile or that may not be inspected. The keeper imports this
file: it does not use dataclasses, pathlib or typing, whose import takes longer than the start of a process.
"""
# ruff: noqa: PTH110, PTH115, PTH116, PTH208

import os

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def read_bytes(path: str) -> bytes:
    """Return the content of a /proc file, empty if it is unreadable."""
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
    """Fields of /proc/PID/stat for the whole thread group; times in clock ticks."""

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
        # Since boot; together with the pid it identifies a process uniquely.
        self.start_ticks = int(fields[19])


def read_stat(pid: int) -> Stat | None:
    """Return the kernel's statistics of a process; None if it has ended."""
    text = read_bytes(f"/proc/{pid}/stat")
    end = text.rfind(b")")  # the name before it may contain any characters, including brackets and spaces
    fields = text[end + 2 :].split()
    return Stat(pid, fields) if len(fields) > 19 else None


def _has_children_file() -> bool:
    return os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
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
    children: dict[int, list[int]] = {}
    for pid in all_pids():
        stat = read_stat(pid)
        if stat is not None:
            children.setdefault(stat.parent, []).append(pid)
    return children


def descendants(root: int) -> list[int]:
    """Return all processes below ``root``, parents before children.

    Uses ``/proc/PID/task/TID/children``; on kernels without it, one scan of /proc.
    """
    direct = _has_children_file()
    scanned = {} if direct else _children_by_scan()
    processes: list[int] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop(0)
        below = _children(pid) if direct else scanned.get(pid, [])
        processes += below
        waiting += below
    return processes


def all_pids() -> list[int]:
    """Return the pids of all visible processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def program_of(pid: int) -> str:
    """Return the executable of a process, "" if it is not accessible."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""


def environment_of(pid: int) -> dict[bytes, bytes]:
    """Return the initial environment of a process; empty if it is not accessible."""
    entries = read_bytes(f"/proc/{pid}/environ").split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def name_of(pid: int) -> str:
    """Return the short name of a process, as printed by ``ps``."""
    return read_bytes(f"/proc/{pid}/comm").decode(errors="replace").strip()


def is_alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    stat = read_stat(pid)
    return stat is not None and stat.state not in "ZX"


def signal_one(pid: int, number: int) -> None:
    """Send a signal; ignore ended processes and processes of other users."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def carrying(name: str, value: str) -> list[int]:
    """Return the living processes of this user, except this one, whose environment contains ``name=value``.

    This finds ranks that are not descendants: ranks of ``srun`` are children of slurmstepd.
    """
    mark = f"{name}={value}".encode()
    user = os.getuid()
    pids = []
    for pid in all_pids():
        try:
            if os.stat(f"/proc/{pid}").st_uid != user or pid == os.getpid():
                continue
        except OSError:
            continue
        if mark in read_bytes(f"/proc/{pid}/environ").split(b"\0") and is_alive(pid):
            pids.append(pid)
    return pids
