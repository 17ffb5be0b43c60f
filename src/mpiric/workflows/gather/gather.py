"""Puts spread files back: by link and unlink, so that a file that is there already is never replaced.

Interrupted, it is begun again: each file is in one of its two places, or in both for a moment.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mpiric.host.files import is_directory, is_file
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.spread import MANIFEST, MANIFEST_BEGINS, TOP
from mpiric.workflows.gather.from_node import bring, files_on_nodes

_VERSION = "1"
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)  # file systems without hard links


@dataclass(frozen=True)
class Gathered:
    """What was put back, and what was not, with the reason."""

    moved: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


def gather(directory: Path) -> Gathered:
    """Put back all files that are spread in a directory or below it, and those that lie on this node's disk.

    Raises NotFoundError where there are none, MpiricError for a manifest of another version.
    """
    if not is_directory(directory):
        raise NotFoundError(
            f"there is no directory {directory}", hint="name the one that the program wrote to"
        )
    tops = list(_tops(directory))
    on_nodes = list(files_on_nodes(directory))
    if not tops and not on_nodes:
        raise NotFoundError(
            f"no files are spread in {directory}, and none has been left on a node",
            hint=f"spread files lie in a directory {TOP}, with a {MANIFEST}; a link stands for one on a node",
        )
    for top in tops:
        _check(top)
    moved: list[str] = []
    left: list[tuple[str, str]] = []
    for file in on_nodes:
        if reason := bring(file):
            left.append((str(file.own), reason))
        else:
            moved.append(str(file.own))
    for top in tops:
        for path in sorted(each for each in top.glob("*/*") if not is_directory(each)):
            if reason := _put_back(path, top.parent / path.name):
                left.append((str(path), reason))
            else:
                moved.append(str(top.parent / path.name))
        _remove_empty(top)
    return Gathered(tuple(moved), tuple(left))


def _tops(directory: Path) -> Iterator[Path]:
    for root, names, _ in os.walk(directory):
        if TOP in names:
            names.remove(TOP)
            if is_file(Path(root) / TOP / MANIFEST):
                yield Path(root) / TOP


def _check(top: Path) -> None:
    with (top / MANIFEST).open(encoding="utf-8", errors="replace") as file:
        first = file.readline(100).strip()
    if first != MANIFEST_BEGINS + _VERSION:
        raise MpiricError(
            f"{top / MANIFEST} is of no version that this mpiric reads",
            hint="gather with the mpiric that ran the program",
        )


def _put_back(path: Path, own: Path) -> str:
    """Why a file stays where it is, "" where it was put back."""
    try:
        with suppress(FileExistsError):
            own.hardlink_to(path)
        if not os.path.lexists(own) or not os.path.samestat(own.lstat(), path.lstat()):
            return f"{own} is there already"
        path.unlink()
    except OSError as error:
        if error.errno not in _NO_LINKS or os.path.lexists(own):
            return error.strerror or str(error)
        path.rename(own)
    return ""


def _remove_empty(top: Path) -> None:
    """Remove the subdirectories that are empty, and the manifest once all are."""
    for subdirectory in sorted(top.iterdir()):
        if is_directory(subdirectory):
            with suppress(OSError):
                subdirectory.rmdir()
    if [path.name for path in top.iterdir()] == [MANIFEST]:
        (top / MANIFEST).unlink()
        top.rmdir()
