"""Mounts that only the keeper and what it starts can see: an overlay of the user's directory for each launch.

1. The keeper leaves mpiric's mount namespace for one of its own; where it may not, it makes a user namespace
   first, in which its user keeps name and number and gains nothing outside.
2. The whole tree of files is bound below the area once, so that every ``..`` leads where it did.
3. For each launch the overlay is mounted anew over the user's directory there, and bound over the directory
   itself: an absolute path into it meets the trial's files too.

Everything goes when the keeper goes, however it ends. Outside, the area shows nothing of this: a process that
is started beyond the namespace finds no directory to run in, and cannot mistake the user's for it.
"""

import ctypes
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpiric.host.processes.keeper_messages import Message

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000  # linux/mount.h
_MNT_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


class Mounts:
    """The mounts of one keeper."""

    def __init__(self) -> None:
        self._entered = False
        self._root = ""  # where the whole tree of files is bound
        self._of_user = False  # whether the namespace belongs to a user namespace of our own
        self._mounted: list[str] = []

    def renew(self, wanted: "Message") -> None:
        """Mount what is ``wanted``, an `OverlayMount` as a message, in place of the one before.

        Raises OSError where kernel or permissions do not allow it.
        """
        root, source = wanted["root"], wanted["source"]
        if not self._entered:
            self._enter()
        self.clear()
        if root != self._root:
            _mount("/", root, "", _MS_BIND | _MS_REC)
            self._root = root
        held = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in wanted["kept"]]
        layers = [*wanted["lower"], wanted["upper"], wanted["work"]]
        opened = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in layers]
        try:
            *lower, upper, work = (f"/proc/self/fd/{descriptor}" for descriptor in opened)
            how = "userxattr" if self._of_user else "redirect_dir=on,metacopy=off,index=off"
            data = f"lowerdir={':'.join(lower)},upperdir={upper},workdir={work},{how}"
            self._mount("overlay", root + source, "overlay", 0, data)
            self._mount(root + source, source, "", _MS_BIND)
            for descriptor, path in zip(held, wanted["kept"], strict=True):
                self._mount(f"/proc/self/fd/{descriptor}", path, "", _MS_BIND)
        finally:
            for descriptor in (*held, *opened):
                os.close(descriptor)

    def clear(self) -> None:
        """Take away what was mounted for a launch; a directory that was removed took its mount along."""
        while self._mounted:
            with suppress(FileNotFoundError):
                _check(_libc.umount2(self._mounted.pop().encode(), _MNT_DETACH))

    def _enter(self) -> None:
        if _libc.unshare(_CLONE_NEWNS) != 0:
            _enter_user_namespace()
            self._of_user = True
        self._entered = True
        _mount("", "/", "", _MS_REC | _MS_SLAVE)

    def _mount(self, source: str, target: str, kind: str, flags: int, data: str = "") -> None:
        _mount(source, target, kind, flags, data)
        self._mounted.append(target)


def _enter_user_namespace() -> None:
    """A user namespace with one user, our own; capabilities in it end with the exec of a program."""
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


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    words = [word.encode() if word else None for word in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), data.encode() if data else None))


def _check(status: int) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
