"""Copying of directory trees file by file, and the files that a trial changed in a copy.

Reflinks are used if the file system supports them; holes are kept. Links to targets inside the tree point
into the copy. Links to other targets become absolute, because the depth of the copy differs. Sockets, pipes
and devices are not copied.

To restore a trial's directory, only changed files are copied again; all files are checked. Each change of a
file is visible in its inode: content and permissions change the ctime, which programs cannot set. This is
valid only if all writers run on this node, and not on tmpfs, where writes through mmap do not change times.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from mpiric.model.dataclass import dataclass

_FICLONE = 0x40049409  # linux/fs.h; btrfs, XFS with reflink, bcachefs, OCFS2
_CHUNK_BYTES = 64 << 20
_CANNOT_CLONE = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.EPERM, errno.ENOSYS}


@dataclass(frozen=True)
class TreeEntry:
    """File, link or directory of a tree."""

    path: str  # relative to the tree, "" for the tree itself
    status: os.stat_result

    @property
    def is_file(self) -> bool:
        """Return whether it is a regular file."""
        return stat.S_ISREG(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Return whether it is a symbolic link."""
        return stat.S_ISLNK(self.status.st_mode)

    @property
    def is_dir(self) -> bool:
        """Return whether it is a directory."""
        return stat.S_ISDIR(self.status.st_mode)


def walk(root: str, skip: Callable[[str], bool] = lambda _: False) -> Iterator[TreeEntry]:
    """Yield each file, link and directory below ``root``, parents first; ``skip`` receives full paths.

    An unreadable directory is reported without content, because the program could not read it either.
    """
    waiting = [""]
    while waiting:
        relative = waiting.pop()
        try:
            with os.scandir(os.path.join(root, relative)) as entries:  # noqa: PTH118
                listing = sorted(entries, key=lambda entry: entry.name)
        except PermissionError:
            continue
        for entry in listing:
            if skip(entry.path):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            found_entry = TreeEntry(f"{relative}/{entry.name}" if relative else entry.name, status)
            if found_entry.is_dir:
                waiting.append(found_entry.path)
            if found_entry.is_dir or found_entry.is_file or found_entry.is_link:
                yield found_entry


def can_reflink(source: str, directory: str) -> bool:
    """Return whether a copy of the regular file ``source`` in ``directory`` would share its data."""
    probe = f"{directory}/.reflink-probe-{os.getpid()}"
    try:
        _copy_file(source, probe, os.lstat(source), only_clone=True)
    except OSError:
        return False
    finally:
        if os.path.lexists(probe):
            os.unlink(probe)  # noqa: PTH108
    return True


def copy_entry(entry: TreeEntry, source: str, target: str, *, link: bool = False) -> bool:
    """Copy an entry to ``target``; directories stay writable. Return False if it is unreadable.

    ``link`` creates a hard link for a regular file instead of a copy.
    """
    old, new = f"{source}/{entry.path}", f"{target}/{entry.path}"
    if entry.is_dir:
        os.mkdir(new, 0o700)  # noqa: PTH102
        return True
    if entry.is_link:
        os.symlink(_retarget(os.readlink(old), entry.path, source), new)  # noqa: PTH115, PTH211
        os.utime(new, ns=(entry.status.st_atime_ns, entry.status.st_mtime_ns), follow_symlinks=False)
        return True
    if link:
        os.link(old, new)
        return True
    try:
        _copy_file(old, new, entry.status)
    except (PermissionError, FileNotFoundError):
        return False
    return True


def close_directory(entry: TreeEntry, target: str) -> None:
    """Set the mode and time of a directory after its content is complete."""
    path = f"{target}/{entry.path}"
    _keep_owner(path, entry.status)
    os.chmod(path, stat.S_IMODE(entry.status.st_mode))  # noqa: PTH101
    os.utime(path, ns=(entry.status.st_atime_ns, entry.status.st_mtime_ns))


def _copy_file(old: str, new: str, status: os.stat_result, *, only_clone: bool = False) -> None:
    reading = os.open(old, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        writing = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _copy_data(reading, writing, status, only_clone=only_clone)
            _keep_owner(writing, status)
            os.fchmod(writing, stat.S_IMODE(status.st_mode))
            os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _keep_owner(file: int | str, status: os.stat_result) -> None:
    if os.getuid() == 0 and (status.st_uid, status.st_gid) != (0, 0):
        os.chown(file, status.st_uid, status.st_gid)


def _copy_data(reading: int, writing: int, status: os.stat_result, *, only_clone: bool) -> None:
    if not status.st_size:
        return
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError as error:
        if only_clone or error.errno not in _CANNOT_CLONE:
            raise
    else:
        return
    size = status.st_size
    sparse = status.st_blocks * 512 < size
    for start, end in _data(reading, size) if sparse else [(0, size)]:
        _copy_range(reading, writing, start, end)
    os.ftruncate(writing, size)


def _data(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a sparse file that contain data."""
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end


def _copy_range(reading: int, writing: int, start: int, end: int) -> None:
    while start < end:
        count = min(end - start, _CHUNK_BYTES)
        try:
            done = os.copy_file_range(reading, writing, count, start, start)
        except OSError as error:
            if error.errno not in _CANNOT_CLONE:
                raise
            done = os.pwrite(writing, os.pread(reading, min(count, 1 << 20), start), start)
        if done == 0:
            return  # the file became shorter while it was copied
        start += done


def _retarget(link: str, path: str, source: str) -> str:
    """Return the target of the link at ``path`` for a copy of ``source``."""
    parent = os.path.dirname(f"{source}/{path}")  # noqa: PTH120
    absolute = os.path.normpath(link if link.startswith("/") else f"{parent}/{link}")
    inside = absolute == source or absolute.startswith(source + "/")
    if not inside:
        return link if link.startswith("/") else f"{parent}/{link}"
    return os.path.relpath(absolute, parent) if link.startswith("/") else link


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
