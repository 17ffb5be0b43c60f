"""What a trial made, changed or removed in its directory: the files whose equality is checked."""

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from mpiric.host.isolation.copying import TreeEntry, walk

HASHED_BYTES = 1 << 30  # of all files together; SHA-256 does about 1 GB/s
_CHUNK_BYTES = 1 << 20

Manifest = dict[str, tuple[int, int, int]]  # path → (type and mode, size, mtime in ns)


def manifest_of(entries: Iterable[TreeEntry]) -> Manifest:
    """The files and links that were there at the start."""
    return {
        entry.path: (entry.status.st_mode, entry.status.st_size, entry.status.st_mtime_ns)
        for entry in entries
        if not entry.is_dir
    }


def changed_files(
    directory: Path,
    before: Manifest,
    template: Path | None,
    skip: Callable[[str], bool],
    limit_bytes: int = HASHED_BYTES,
) -> dict[str, str]:
    """Path → SHA-256 of each file that is new or not as in ``before``.

    Links are ``link:TARGET``, what was removed is ``removed``; beyond ``limit_bytes`` of contents,
    smallest files first, a file is only ``size:BYTES``. A file written anew with the same contents as
    the template's has not changed.
    """
    entries = {entry.path: entry for entry in walk(str(directory), skip) if not entry.is_dir}
    found = {path: "removed" for path in before if path not in entries}
    left = limit_bytes
    for path, entry in sorted(entries.items(), key=lambda item: (item[1].status.st_size, item[0])):
        status = entry.status
        if before.get(path) == (status.st_mode, status.st_size, status.st_mtime_ns):
            continue
        if entry.is_link:
            found[path] = f"link:{os.readlink(directory / path)}"  # noqa: PTH115
            continue
        left -= status.st_size
        now = _hash(directory / path) if left >= 0 else f"size:{status.st_size}"
        original = template / path if template is not None and path in before else None
        if original is not None and left >= 0 and _still_equal(original, status, now):
            continue
        found[path] = now
    return dict(sorted(found.items()))


def _still_equal(original: Path, status: os.stat_result, now: str) -> bool:
    """Whether a rewritten file has the template's contents; a hard link to the template changed both."""
    template = original.lstat()
    same_size = template.st_size == status.st_size
    return template.st_ino != status.st_ino and same_size and _hash(original) == now


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        return f"unreadable:{error.strerror}"
    return digest.hexdigest()
