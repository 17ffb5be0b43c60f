"""Files in the user's cache directory, written atomically and not writable by other users."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress

from mpiric.host.user_directories import user_directory


def directory(environ: Mapping[str, str]) -> str:
    """Return mpiric's cache directory; "" without a home, because shared directories are not trusted."""
    root = user_directory(environ, "cache")
    return f"{root}/mpiric" if root else ""


def read(path: str) -> str | None:
    """Return the text of a file that only this user can change, None for any other."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="utf-8", errors="surrogateescape") as file:
            state = os.fstat(descriptor)
            is_safe = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid()
            return file.read() if is_safe and not state.st_mode & 0o022 else None
    except (OSError, ValueError):
        return None


def write(path: str, text: str) -> None:
    """Write a file atomically. Errors are ignored: without a cache mpiric is only slower."""
    temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode(errors="surrogateescape"))
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)


def make_room(path: str, limit: int) -> None:
    """Remove the older half of a directory's files if there are more than ``limit``."""
    with suppress(OSError):
        names = os.listdir(path)
        if len(names) > limit:
            oldest = sorted(names, key=lambda name: os.stat(f"{path}/{name}").st_mtime_ns)
            for name in oldest[: len(oldest) // 2]:
                os.unlink(f"{path}/{name}")
