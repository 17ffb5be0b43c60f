"""Moving spread files back, with link and unlink, so that an existing file is never replaced.

It can be repeated after an interruption: each file is in one of its two places, or in both for a moment.
Other users may write to the directory: only files and subdirectories of this user are moved, and links are
not followed.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mpiric.host.files import is_directory
from mpiric.host.owned_files import open_directory, read_own
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.file_rules import MANIFEST, MANIFEST_BEGINS, TOP

_VERSION = "1"
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)  # file systems without hard links


@dataclass(frozen=True)
class Gathered:
    """Files that were moved back, and files that were not, with the reason."""

    moved: tuple[str, ...]
    remaining: tuple[tuple[str, str], ...]


def gather(directory: Path) -> Gathered:
    """Move back all spread files in a directory or below it.

    Raises NotFoundError if there are none, MpiricError for a manifest of another version.
    """
    if not is_directory(directory):
        raise NotFoundError(
            f"the directory {directory} does not exist", hint="name the directory that the program wrote to"
        )
    for path, parent in _tops(directory):
        with suppress(OSError), _opened(TOP, parent) as top:
            _check(path, top)
    moved: list[str] = []
    remaining: list[tuple[str, str]] = []
    for path, parent in _tops(directory):
        try:
            with _opened(TOP, parent) as top:
                outcomes = list(_empty(path, top, parent))
        except OSError as error:
            outcomes = [(path, _reason(error))]
        for inside, reason in outcomes:
            if reason:
                remaining.append((str(inside), reason))
            else:
                moved.append(str(path.parent / inside.name))
        with suppress(OSError):
            os.rmdir(TOP, dir_fd=parent)
    if not moved and not remaining:
        raise NotFoundError(
            f"no files are spread in {directory}",
            hint=f"spread files are in a directory {TOP} that has a file {MANIFEST}",
        )
    return Gathered(tuple(moved), tuple(remaining))


def _tops(directory: Path) -> Iterator[tuple[Path, int]]:
    """Yield the directories of spread files that have a manifest, each with its open parent directory."""
    for root, names, _, descriptor in os.fwalk(directory):
        if TOP in names:
            names.remove(TOP)
            with suppress(OSError):
                os.stat(f"{TOP}/{MANIFEST}", dir_fd=descriptor)
                yield Path(root) / TOP, descriptor


@contextmanager
def _opened(name: str, parent: int) -> Iterator[int]:
    """Open a directory of this user. Raises OSError for a link or another user's directory."""
    descriptor = open_directory(name, at=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check(path: Path, top: int) -> None:
    try:
        text = read_own(MANIFEST, 100, at=top)
    except OSError as error:
        raise MpiricError(f"{path / MANIFEST} cannot be read: {_reason(error)}") from error
    if text.partition(b"\n")[0].decode(errors="replace").strip() != MANIFEST_BEGINS + _VERSION:
        raise MpiricError(
            f"{path / MANIFEST} is of no version that this mpiric reads",
            hint="gather with the mpiric that ran the program",
        )


def _empty(path: Path, top: int, parent: int) -> Iterator[tuple[Path, str]]:
    """Move the files of all subdirectories to ``parent``; yield each file, and why it stays ("" if moved).

    Then remove empty subdirectories, and finally the manifest.
    """
    for name in sorted(set(os.listdir(top)) - {MANIFEST}):
        try:
            with _opened(name, top) as subdirectory:
                for file in sorted(os.listdir(subdirectory)):  # noqa: PTH208
                    if (reason := _put_back(file, subdirectory, parent)) is not None:
                        yield path / name / file, reason
        except OSError as error:
            mode = os.stat(name, dir_fd=top, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
                yield path / name, _reason(error)
            continue
        with suppress(OSError):
            os.rmdir(name, dir_fd=top)
    if os.listdir(top) == [MANIFEST]:
        os.unlink(MANIFEST, dir_fd=top)


def _put_back(name: str, subdirectory: int, parent: int) -> str | None:
    """Return why a file was not moved, "" if it was, None for a directory."""
    try:
        status = os.stat(name, dir_fd=subdirectory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return None
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return "it is not a file of this user's own"
        with suppress(FileExistsError):
            _link(name, subdirectory, parent)
        if _inode(name, parent) != (status.st_dev, status.st_ino):
            return "a file of this name exists already"
        os.unlink(name, dir_fd=subdirectory)
    except OSError as error:
        if error.errno not in _NO_LINKS or _inode(name, parent) is not None:
            return _reason(error)
        os.rename(name, name, src_dir_fd=subdirectory, dst_dir_fd=parent)
    return ""


def _link(name: str, subdirectory: int, parent: int) -> None:
    os.link(name, name, src_dir_fd=subdirectory, dst_dir_fd=parent, follow_symlinks=False)


def _inode(name: str, parent: int) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        return status.st_dev, status.st_ino
    return None


def _reason(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "it is a symbolic link"
    return error.strerror or str(error)
