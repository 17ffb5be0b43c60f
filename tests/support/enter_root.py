"""Runs a command in another root file system, where some directories are this one's.

    enter_root.py ROOT [DIRECTORY…] -- COMMAND…

The root is changed by pivot_root, not chroot: a process below a chroot may make no user namespace, and
container engines make one. What is mounted is mounted for this command alone.
"""

import ctypes
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000  # MS_BIND, MS_REC, MS_PRIVATE
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
DETACH = 2  # MNT_DETACH
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
OF_SYSTEM = ("/dev", "/proc", "/sys")
LIBC = ctypes.CDLL(None, use_errno=True)


def ask(done: int, what: str) -> None:
    """Raise OSError for a call of the C library that has failed."""
    if done:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), what)


def mount(source: str, target: str, flags: int) -> None:
    """Bind a directory, or change how mounts spread."""
    ask(LIBC.mount(source.encode(), target.encode(), None, flags, None), target)


def enter(root: str, directories: Iterable[str]) -> None:
    """Make ``root`` the root of this process, with directories of the old one in it."""
    ask(LIBC.unshare(NEW_MOUNTS), "mount namespace")
    mount("none", "/", RECURSIVE | PRIVATE)
    mount(root, root, BIND | RECURSIVE)
    for directory in (*OF_SYSTEM, *directories):
        Path(root + directory).mkdir(parents=True, exist_ok=True)
        mount(directory, root + directory, BIND | RECURSIVE)
    os.chdir(root)
    ask(LIBC.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    ask(LIBC.umount2(b".", DETACH), "old root")
    os.chdir("/")


def main(words: Sequence[str]) -> None:
    """Enter, become the command."""
    end = words.index("--")
    root, *directories = words[:end]
    enter(root, directories)
    os.execvp(words[end + 1], words[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
