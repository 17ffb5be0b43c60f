"""Links under which a library answers to another name, kept for as long as the user's files are.

A program that asks for ``libmpi.so.12`` can run under a library called ``libmpich.so.12`` when a directory in
its library path has a link of the wanted name. Commands that mpiric prints rely on such directories,
so they stand under the XDG data directory and stay.
"""

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

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
            shutil.rmtree(directory)
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
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    beside.replace(path)


def bases(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Directories for what has to stay, the best first."""
    data = user_directory(environ, "data")
    own = Path(tempfile.gettempdir()) / f"mpiric-{os.getuid()}"
    return (*((Path(data) / "mpiric",) if data else ()), *((own,) if _is_ours(own) else ()))


def library_bases(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Directories for libraries that have to stay: of `bases`, those that are not mounted ``noexec``."""
    return tuple(filter(_can_be_loaded_from, bases(environ)))


def _can_be_loaded_from(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return not os.statvfs(directory).f_flag & os.ST_NOEXEC
    except OSError:
        return False


def _is_ours(directory: Path) -> bool:
    """Whether nobody else can put libraries there: the temporary directory is everybody's."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        facts = directory.lstat()
    except OSError:
        return False
    return directory.is_dir() and facts.st_uid == os.getuid() and not facts.st_mode & 0o022
