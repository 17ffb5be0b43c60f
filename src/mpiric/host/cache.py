"""What is kept in the user's cache directory: whole files, which nobody else can write."""

import os
from collections.abc import Mapping
from contextlib import suppress

from mpiric.host.user_directories import user_directory


def directory(environ: Mapping[str, str]) -> str:
    """Directory of what mpiric may lose; "" without a home: a directory that others share is not trusted."""
    root = user_directory(environ, "cache")
    return f"{root}/mpiric" if root else ""


def read(path: str) -> str | None:
    """A file of this user's that no other user may change, None for any other."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            state = os.fstat(file.fileno())
            return file.read() if state.st_uid == os.geteuid() and not state.st_mode & 0o022 else None
    except (OSError, ValueError):
        return None


def write(path: str, text: str) -> None:
    """Write a file whole or not at all; a cache that cannot be written is only slower."""
    made = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode(errors="surrogateescape"))
        os.replace(made, path)
    except OSError:
        with suppress(OSError):
            os.unlink(made)


def make_room(path: str, kept: int) -> None:
    """Remove the older half of a directory that has more than ``kept`` files."""
    with suppress(OSError):
        names = os.listdir(path)
        if len(names) > kept:
            oldest = sorted(names, key=lambda name: os.stat(f"{path}/{name}").st_mtime_ns)
            for name in oldest[: len(oldest) // 2]:
                os.unlink(f"{path}/{name}")
