"""Safe access to files in directories where other users may write: no links, no files of other users.

Each function works on an open directory, so that a link cannot be inserted between check and use. New files
are created exclusively. Errors of the system are raised, except by `write_text`.
"""
# ruff: noqa: PTH101

import errno
import logging
import os
import secrets
import shutil
import stat
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from mpiric.model.errors import writing

LOG = logging.getLogger("mpiric.host")
_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST = 1 << 20
_PRIVATE = stat.S_IRWXU
_MOST_TRIES = 20


def open_directory(path: str | os.PathLike[str]) -> int:
    """Open a directory of this user. Raises OSError for a link or another user's directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "it belongs to another user", str(path))
    return descriptor


def open_new(path: str | os.PathLike[str], mode: int = 0o600) -> int:
    """Create a file for writing. Raises FileExistsError if the name exists, also as a link."""
    LOG.debug("create: %s", path)
    return os.open(path, os.O_WRONLY | _NEW, mode)


def open_own(
    path: str | os.PathLike[str], flags: int = os.O_RDONLY, mode: int = 0o600, at: int | None = None
) -> int:
    """Open a regular file of this user; for writing it must have a single name. Raises OSError otherwise."""
    safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a FIFO must not block
    descriptor = os.open(path, flags | safe, mode, dir_fd=at)
    status = os.fstat(descriptor)
    is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or (flags & os.O_ACCMODE != os.O_RDONLY and status.st_nlink > 1):
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "it is not a file of this user's own", str(path))
    return descriptor


def read_own(path: str | os.PathLike[str], most_bytes: int = _LONGEST, at: int | None = None) -> bytes:
    """Read the first bytes of a regular file of this user. Raises OSError for any other file."""
    with os.fdopen(open_own(path, at=at), "rb") as file:
        return file.read(most_bytes)


def append(path: str | os.PathLike[str], text: str) -> None:
    """Append to a file of this user; create it if it does not exist. Raises OSError."""
    LOG.debug("append to: %s", path)
    with os.fdopen(open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666), "ab") as file:
        file.write(text.encode())


def open_output(path: str | os.PathLike[str]) -> int:
    """Open a file that the user named, to append to it; it may also be a device or a FIFO of this user.

    Raises OSError for a file, link or FIFO of another user.
    """
    if may_be_replaced(Path(path)):
        return open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)


def write_whole(path: Path, data: bytes | BinaryIO, mode: int = 0o666) -> None:
    """Write a file atomically: a new file in the same directory, then renamed.

    ``data`` may be an open file, which is copied from its position on. A link or FIFO of another user is
    replaced. A device, or a link of this user or the system (``/dev/stdout``), is written to directly, as a
    shell does.
    """
    source = BytesIO(data) if isinstance(data, bytes) else data
    if not may_be_replaced(path):
        with path.open("wb") as file:
            shutil.copyfileobj(source, file)
        LOG.info("wrote: %s", path)
        return
    temporary = path.with_name(f".mpiric-{secrets.token_hex(6)}")
    descriptor = open_new(temporary, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        LOG.info("wrote: %s", path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, hint: str = "name another directory") -> Path:
    """Write a text file atomically, with its directories; return its path. Raises NoRoomError."""
    with writing(path, hint):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    return path


def may_be_replaced(path: Path) -> bool:
    """Return whether an output replaces what is at a path: nothing, a file, or a link or FIFO of others."""
    try:
        status = path.lstat()
    except OSError:
        return True
    if stat.S_ISREG(status.st_mode):
        return True
    is_foreign = status.st_uid not in (os.geteuid(), 0)
    return is_foreign and (stat.S_ISLNK(status.st_mode) or stat.S_ISFIFO(status.st_mode))


def is_own_directory(path: str | os.PathLike[str], *, private: bool = True) -> bool:
    """Return whether a path is a directory of this user, not a link; ``private``: not writable for others."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return is_own and (not private or _is_private(status))


def why_open_to_others(directory: str | os.PathLike[str]) -> str:
    """Return why others may create files in a directory, or have created it; "" if they may not.

    A link of this user or of the system is followed.
    """
    try:
        entry, status = os.lstat(directory), os.stat(directory)  # noqa: PTH116
    except OSError as error:
        return error.strerror or str(error)
    if status.st_uid not in (0, os.geteuid()) or entry.st_uid not in (0, os.geteuid()):
        return "it belongs to another user"
    return "others can write into it" if status.st_mode & 0o022 else ""


def remove_tree(path: str | os.PathLike[str]) -> None:
    """Remove a directory of this user with its content, as far as possible.

    Inaccessible directories inside are made accessible. Links are removed, not followed; other file systems
    are not entered. Directories of other users stay, and so do links with the name of the directory, except
    in a directory that only this user can write. The parent directory keeps its mode and times.
    """
    above, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    try:
        parent = os.open(above, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        status, before = os.stat(name, dir_fd=parent, follow_symlinks=False), os.fstat(parent)
        is_ours = status.st_uid == os.geteuid() or _is_private(before)
        if stat.S_ISDIR(status.st_mode) and is_ours:
            _remove_directory(name, parent, status.st_dev)
            os.utime(f"/proc/self/fd/{parent}", ns=(before.st_atime_ns, before.st_mtime_ns))
    except OSError:
        return
    finally:
        os.close(parent)


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _remove_directory(name: str, parent: int, device: int) -> None:
    """Remove a subdirectory of an open directory as far as possible. Raises OSError if it stays."""
    descriptor = _open_up(name, parent)
    try:
        if os.fstat(descriptor).st_dev != device:
            return
        for _ in range(_MOST_TRIES):  # a process may still be writing to it
            names = os.listdir(descriptor)  # noqa: PTH208
            for inner in names:
                with suppress(OSError):
                    try:
                        os.unlink(inner, dir_fd=descriptor)
                    except IsADirectoryError:
                        _remove_directory(inner, descriptor, device)
                    except PermissionError:
                        if not stat.S_ISDIR(os.stat(inner, dir_fd=descriptor, follow_symlinks=False).st_mode):
                            raise
                        _remove_directory(inner, descriptor, device)
            if not names or set(os.listdir(descriptor)) >= set(names):  # noqa: PTH208
                break
    finally:
        os.close(descriptor)
    os.rmdir(name, dir_fd=parent)


def _open_up(name: str, parent: int) -> int:
    """Open a directory for reading and changing its entries, even if its mode denies that to its owner."""
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        path = f"/proc/self/fd/{handle}"
        if os.fstat(handle).st_mode & _PRIVATE != _PRIVATE:
            with suppress(OSError):
                os.chmod(path, _PRIVATE)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(handle)
