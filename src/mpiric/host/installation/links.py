"""Links under which a library answers to another name, kept for as long as the user's files are.

A program that asks for ``libmpi.so.12`` can run under a library called ``libmpich.so.12`` when a directory in
its library path has a link of the wanted name. Commands that mpiric prints rely on such directories,
so they stand under the XDG data directory and stay.
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
    """A directory that holds each link (name → absolute path), made or repaired; "" when none can be had.

    Where the data directory cannot be written, the system's temporary directory takes its place.
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
    """Make ``base``/``names``… for libraries that programs load, where nobody else can put any.

    Write permission of group and others is taken away, whatever the umask. What others could have written
    into is made anew. Raises PermissionError for a directory of another user than this one or root.
    """
    directory = base
    for depth in range(len(names) + 1):
        if depth:
            directory = directory / names[depth - 1]
        directory.mkdir(parents=depth == 0, exist_ok=True)
        facts = directory.lstat() if depth else directory.stat()  # the user may keep the base elsewhere
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
    """Make or repair one link; whoever looks sees the old one or the new one."""
    try:
        if os.readlink(path) == target:  # noqa: PTH115 the text, not a path
            return
    except OSError:
        pass  # missing, or no link
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    beside.symlink_to(target)
    beside.replace(path)


def bases(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the directories for links and libraries that have to stay, the best first.

    The one in the temporary directory is made when it is asked for, after the others have failed.
    """
    if data := user_directory(environ, "data"):
        yield Path(data) / "mpiric"
    own = Path(tempfile.gettempdir()) / f"mpiric-{os.getuid()}"
    with suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
    if is_own_directory(own):  # every user can write into the temporary directory
        yield own


def library_bases(environ: Mapping[str, str]) -> Iterator[Path]:
    """Directories for libraries that have to stay: of `bases`, those that are not mounted ``noexec``."""
    return filter(_can_be_loaded_from, bases(environ))


def _can_be_loaded_from(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return not os.statvfs(directory).f_flag & os.ST_NOEXEC
    except OSError:
        return False
