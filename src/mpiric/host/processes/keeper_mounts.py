"""Mounts for the keeper and its children only: an overlay of the user's directory for each launch.

1. The keeper creates its own mount namespace; without the permission, inside a new user namespace that maps
the user to itself and gives no rights outside. 2. The whole file tree is bind-mounted once below the area,
so that each ``..`` leads to the usual directory. 3. For each launch the overlay is mounted over the user's
directory there, and bind-mounted over the directory itself, so that absolute paths also reach the trial's
files.

All mounts disappear with the keeper. Outside the namespace the area is empty: a process that starts there
does not find its directory and cannot confuse it with the user's.
"""

import ctypes
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpiric.host.processes.keeper import Message

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000  # linux/mount.h
_MNT_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


class Mounts:
    """Mounts of one keeper."""

    def __init__(self) -> None:
        self._entered = False
        self._root = ""  # mount point of the whole file tree
        self._of_user = False  # the namespace belongs to a user namespace of the keeper
        self._mounted: list[str] = []

    def renew(self, request: "Message") -> None:
        """Replace the previous mounts by those in ``wanted``, an `OverlayMount` as a message.

        Raises OSError if kernel or permissions do not allow it.
        """
        root, source = request["root"], request["source"]
        if not self._entered:
            self._enter()
        self.clear()
        if root != self._root:
            _mount("/", root, "", _MS_BIND | _MS_REC)
            self._root = root
        held = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in request["exempt"]]
        layers = [*request["lower"], request["upper"], request["work"]]
        opened = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in layers]
        try:
            *lower, upper, work = (f"/proc/self/fd/{descriptor}" for descriptor in opened)
            how = "userxattr" if self._of_user else "redirect_dir=on,metacopy=off,index=off"
            data = f"lowerdir={':'.join(lower)},upperdir={upper},workdir={work},{how}"
            self._mount("overlay", root + source, "overlay", 0, data)
            self._mount(root + source, source, "", _MS_BIND)
            for descriptor, path in zip(held, request["exempt"], strict=True):
                self._mount(f"/proc/self/fd/{descriptor}", path, "", _MS_BIND)
        finally:
            for descriptor in (*held, *opened):
                os.close(descriptor)

    def clear(self) -> None:
        """Unmount the mounts of a launch; mounts of removed directories no longer exist."""
        while self._mounted:
            with suppress(FileNotFoundError):
                _check(_libc.umount2(self._mounted.pop().encode(), _MNT_DETACH))

    def _enter(self) -> None:
        if _libc.unshare(_CLONE_NEWNS) != 0:
            user, group = os.geteuid(), os.getegid()
            _check(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS))
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{user} {user} 1"),
                ("gid_map", f"{group} {group} 1"),
            ):
                descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
                try:
                    os.write(descriptor, text.encode())
                finally:
                    os.close(descriptor)
            self._of_user = True
        self._entered = True
        _mount("", "/", "", _MS_REC | _MS_SLAVE)

    def _mount(self, source: str, target: str, kind: str, flags: int, data: str = "") -> None:
        _mount(source, target, kind, flags, data)
        self._mounted.append(target)


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    arguments = [word.encode() if word else None for word in (source, target, kind)]
    _check(_libc.mount(*arguments, ctypes.c_ulong(flags), data.encode() if data else None))


def _check(status: int) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
