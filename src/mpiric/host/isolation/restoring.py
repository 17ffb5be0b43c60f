"""Restoring a trial's directory: only changed files are copied again; all files are checked.

Each change of a file is visible in its inode: content and permissions change the ctime, which programs
cannot set. This is valid only if all writers run on this node, and not on tmpfs, where writes through mmap
do not change times.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from mpiric.host.isolation.copying import TreeEntry, close_directory, copy_entry, walk

FileState = tuple[int, int, int, int, int]


def state_of(status: os.stat_result) -> FileState:
    """Return the properties that show whether a file was replaced or changed."""
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def states_in(directory: str) -> dict[str, FileState]:
    """Return the states of the files and links of a tree, by relative path."""
    return {entry.path: state_of(entry.status) for entry in walk(directory) if not entry.is_dir}


def restore(
    entries: Mapping[str, TreeEntry],
    states: dict[str, FileState],
    template: str,
    directory: str,
    may_link: Callable[[TreeEntry], bool],
) -> None:
    """Restore ``directory`` to the ``entries`` of the template.

    ``states`` are the states before the trial; they are updated for the next one. Raises OSError if the
    restoration is impossible, for example if the trial made directories inaccessible.
    """
    present = {entry.path: entry for entry in walk(directory)}
    touched = [path for path, entry in present.items() if not _is_as_before(entry, entries, states)]
    for path in reversed(touched):  # children come after their parents
        _remove(f"{directory}/{path}", is_dir=present[path].is_dir)
    removed = set(touched)
    missing = [entry for path, entry in entries.items() if path not in present or path in removed]
    for entry in missing:
        copy_entry(entry, template, directory, link=may_link(entry))
    changed = {str(PurePosixPath(path).parent) for path in (*touched, *(entry.path for entry in missing))}
    for entry in reversed(list(entries.values())):
        if entry.is_dir and (entry.path in changed or _differs(entry, present.get(entry.path))):
            close_directory(entry, directory)
    for entry in missing:
        if not entry.is_dir:
            states[entry.path] = state_of(os.lstat(f"{directory}/{entry.path}"))


def _is_as_before(
    entry: TreeEntry, entries: Mapping[str, TreeEntry], states: Mapping[str, FileState]
) -> bool:
    """Return whether an entry existed and is unchanged; the content of directories is not compared."""
    before = entries.get(entry.path)
    if before is None or before.is_dir != entry.is_dir:
        return False
    return entry.is_dir or states.get(entry.path) == state_of(entry.status)


def _differs(entry: TreeEntry, now: TreeEntry | None) -> bool:
    if now is None:
        return True
    then, status = entry.status, now.status
    return (then.st_mode, then.st_mtime_ns) != (status.st_mode, status.st_mtime_ns)


def _remove(path: str, *, is_dir: bool) -> None:
    if is_dir:
        os.rmdir(path)  # noqa: PTH106
    else:
        os.unlink(path)  # noqa: PTH108
