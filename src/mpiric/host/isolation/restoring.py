"""A trial's directory brought back to what it was: a trial costs a look at each file, and what it touched.

Every change of a file shows in its inode: contents and permissions in the time of the last change, which no
program can set. So this is for directories whose writers are all on this node, and not for tmpfs, where a
write through mmap leaves no time.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from mpiric.host.isolation.copying import TreeEntry, close_directory, copy_entry, walk

FileState = tuple[int, int, int, int, int]


def state_of(status: os.stat_result) -> FileState:
    """All that shows whether a file is still the one it was, and as it was."""
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def states_in(directory: str) -> dict[str, FileState]:
    """States of the files and links of a tree, by relative path."""
    return {entry.path: state_of(entry.status) for entry in walk(directory) if not entry.is_dir}


def restore(
    entries: Mapping[str, TreeEntry],
    states: dict[str, FileState],
    template: str,
    directory: str,
    may_link: Callable[[TreeEntry], bool],
) -> None:
    """Make ``directory`` again what ``entries`` of the template say.

    ``states`` are those from before the trial, and then from before the next one. Raises OSError for what
    cannot be mended so: directories that the trial has closed.
    """
    found = {entry.path: entry for entry in walk(directory)}
    touched = [path for path, entry in found.items() if not _is_as_before(entry, entries, states)]
    for path in reversed(touched):  # children come after their parents
        _remove(f"{directory}/{path}", is_dir=found[path].is_dir)
    gone = set(touched)
    missing = [entry for path, entry in entries.items() if path not in found or path in gone]
    for entry in missing:
        copy_entry(entry, template, directory, link=may_link(entry))
    changed = {str(PurePosixPath(path).parent) for path in (*touched, *(entry.path for entry in missing))}
    for entry in reversed(list(entries.values())):
        if entry.is_dir and (entry.path in changed or _differs(entry, found.get(entry.path))):
            close_directory(entry, directory)
    for entry in missing:
        if not entry.is_dir:
            states[entry.path] = state_of(os.lstat(f"{directory}/{entry.path}"))


def _is_as_before(
    entry: TreeEntry, entries: Mapping[str, TreeEntry], states: Mapping[str, FileState]
) -> bool:
    """Whether it was there, of the same kind, and untouched; what stands in a directory counts by itself."""
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
