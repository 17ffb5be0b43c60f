"""Run a command in another root file system that shares some directories with the present one.

    enter_root.py ROOT [DIRECTORY…] -- COMMAND…

The root is changed by pivot_root, because a process below a chroot may not make a user namespace, which
container engines need. The mounts are only visible to this command.
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


def ask(result: int, target: str) -> None:
    """Raise OSError for a call of the C library that has failed."""
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def mount(source: str, target: str, flags: int) -> None:
    """Bind a directory, or change the propagation of mounts."""
    ask(LIBC.mount(source.encode(), target.encode(), None, flags, None), target)


def enter(root: str, directories: Iterable[str]) -> None:
    """Make ``root`` the root of this process, and bind directories of the old root into it."""
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


def main(argv: Sequence[str]) -> None:
    """Change the root and execute the command."""
    end = argv.index("--")
    root, *directories = argv[:end]
    enter(root, directories)
    os.execvp(argv[end + 1], argv[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
