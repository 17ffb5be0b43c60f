"""Permanent links that give a library another name.

A program that needs ``libmpi.so.12`` can use a library called ``libmpich.so.12`` if a directory in its
library path has a link with the needed name. Commands that mpiric prints refer to such directories, so they
are permanent and in the XDG data directory.
"""

import errno
import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from mpiric.host.owned_files import is_own_directory, remove_tree
from mpiric.host.user_directories import user_directory

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def linked_directory(label: str, links: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Return a directory that contains each link (name → absolute path), created or repaired; else "".

    If the data directory is not writable, the system's temporary directory is used.
    """
    targets = hashlib.sha256("\0".join(sorted(links.values())).encode()).hexdigest()[:8]
    for base in bases(environ):
        try:
            directory = loadable_directory(base, "links", f"{label}-{targets}")
            for name, target in links.items():
                make_link(directory / name, target)
        except OSError:
            continue
        return str(directory)
    return ""


def loadable_directory(base: Path, *names: str) -> Path:
    """Create ``base``/``names``… for libraries that programs load, writable only for this user.

    Write permission of group and others is removed, for any umask; a directory that others could have
    written to is created again. Raises PermissionError for a directory of a user other than this one or
    root.
    """
    directory = base
    for depth in range(len(names) + 1):
        if depth:
            directory = directory / names[depth - 1]
        directory.mkdir(parents=depth == 0, exist_ok=True)
        facts = directory.lstat() if depth else directory.stat()  # the base may be a link of the user
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in (0, os.geteuid()):
            raise PermissionError(errno.EPERM, "it is another user's", str(directory))
        if not facts.st_mode & _WRITABLE_BY_OTHERS:
            continue
        if depth > 1 and any(directory.iterdir()):
            remove_tree(directory)
            directory.mkdir()
        directory.chmod(stat.S_IMODE(directory.stat().st_mode) & ~_WRITABLE_BY_OTHERS)
    return directory


def make_link(path: Path, target: str) -> None:
    """Create or replace a link atomically."""
    try:
        if os.readlink(path) == target:  # noqa: PTH115 the text, not a path
            return
    except OSError:
        pass  # missing, or not a link
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    temporary.symlink_to(target)
    temporary.replace(path)


def bases(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the directories for permanent links and libraries, the best first.

    The one in the temporary directory is only created when the others have failed.
    """
    if data := user_directory(environ, "data"):
        yield Path(data) / "mpiric"
    fallback = Path(tempfile.gettempdir()) / f"mpiric-{os.getuid()}"
    with suppress(OSError):
        fallback.mkdir(mode=0o700, exist_ok=True)
    if is_own_directory(fallback):  # every user can write into the temporary directory
        yield fallback


def library_bases(environ: Mapping[str, str]) -> Iterator[Path]:
    """Return the directories of `bases` that are not mounted ``noexec``, for permanent libraries."""
    return filter(_can_be_loaded_from, bases(environ))


def _can_be_loaded_from(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return not os.statvfs(directory).f_flag & os.ST_NOEXEC
    except OSError:
        return False
