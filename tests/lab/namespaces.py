"""The system calls behind a host: unshare, setns, mount, prctl. Python has them since 3.12, or not."""

import ctypes
import os
from pathlib import Path

NEW_MOUNTS = 0x00020000
NEW_NAMES = 0x04000000  # host name
NEW_IPC = 0x08000000
NEW_PIDS = 0x20000000
NEW_NETWORK = 0x40000000
HOST = NEW_MOUNTS | NEW_NAMES | NEW_IPC | NEW_NETWORK  # namespaces that each host has for itself

BIND = 0x1000
RECURSIVE = 0x4000
_PARENT_DEATH_SIGNAL = 1

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(kinds: int) -> None:
    """Move this process into new namespaces; with NEW_PIDS, only its future children."""
    _check(_libc.unshare(kinds), "unshare")


def enter(path: str, kind: int) -> None:
    """Join the namespace behind ``/proc/PID/ns/...``."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(fd, kind), path)
    finally:
        os.close(fd)


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Call mount(2)."""
    command = [word.encode() if word else None for word in (source, target, kind)]
    _check(_libc.mount(*command, ctypes.c_ulong(flags), data.encode() or None), f"mount {target}")


def set_hostname(name: str) -> None:
    """Return the host name of this UTS namespace."""
    _check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def die_with_parent(signal: int) -> None:
    """Let the kernel send ``signal`` to this process when its parent ends."""
    _check(_libc.prctl(_PARENT_DEATH_SIGNAL, signal, 0, 0, 0), "prctl")


def namespace(pid: int | str, kind: str) -> str:
    """Return the identity of a process's namespace (``net:[4026531840]``), "" if the process has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return ""


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
