"""Files that a trial created or changed in its directory, which the check of equivalence compares."""

from collections.abc import Callable, Iterable
from pathlib import Path

from mpiric.host.isolation.copying import TreeEntry, walk

Manifest = dict[str, tuple[int, int, int]]  # path → (type and mode, size, mtime in ns)


def manifest_of(entries: Iterable[TreeEntry]) -> Manifest:
    """Return the files and links that existed at the start."""
    return {
        entry.path: (entry.status.st_mode, entry.status.st_size, entry.status.st_mtime_ns)
        for entry in entries
        if not entry.is_dir
    }


def written_files(directory: Path, before: Manifest, skip: Callable[[str], bool]) -> dict[str, Path]:
    """Return the regular files that are new or have another size or time, by relative path."""
    return {
        entry.path: directory / entry.path
        for entry in walk(str(directory), skip)
        if entry.is_file
        and before.get(entry.path, (0, -1, -1))[1:] != (entry.status.st_size, entry.status.st_mtime_ns)
    }
