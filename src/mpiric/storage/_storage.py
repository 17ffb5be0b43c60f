"""Declaration of a file system by a module of this package, the registry, and the search by path."""

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

import mpiric.storage
from mpiric.host.host import HERE, Host, Space
from mpiric.host.packaged import modules_of
from mpiric.model.dataclass import dataclass
from mpiric.model.machine import FileSystem
from mpiric.model.storage import FileLayout, Mount, StorageFacts

Commands = tuple[tuple[str, ...], ...]
QUESTION_S = 5.0  # time limit: a client whose servers are unreachable does not answer at all


@dataclass(frozen=True)
class Storage:
    """A kind of file system: its identity and pure functions. ``read`` asks the host that it is passed.

    ``check`` returns a sentence about what is wrong with a layout, else "". ``render`` returns the commands
    that set a layout on a directory for files created in it later; None if layouts cannot be set.
    """

    title: str  # name as written by its vendor
    types: tuple[str, ...]  # names in the mount table, without "fuse."; empty: recognised after all others
    magics: tuple[int, ...] = ()  # values of f_type of statfs(2)
    sources: tuple[str, ...] = ()  # prefixes of the source of a FUSE mount without a subtype
    is_network: bool = True
    drivers: tuple[str, ...] = ()  # MPI-IO drivers made for it; "ufs" serves any file system
    read: Callable[[Host, Mount, str], StorageFacts] = lambda _host, _mount, _path: StorageFacts()
    layout: Callable[[Host, str], FileLayout | None] = lambda _host, _path: None  # layout of an existing file
    check: Callable[[FileLayout, StorageFacts], str] = lambda _layout, _facts: "it does not support layouts"
    render: Callable[[FileLayout, str], Commands] | None = None


@lru_cache(maxsize=1)
def storages() -> dict[str, Storage]:
    """Return the file systems by name; the fallback for unknown ones comes last."""
    modules = {name: module.STORAGE for name, module in modules_of(mpiric.storage).items()}
    return dict(sorted(modules.items(), key=lambda item: not item[1].types))


def recognise(mount: Mount, magic: int = 0) -> str:
    """Return the name of the file system behind a mount; ``magic`` decides if the mount table does not.

    A FUSE mount without a subtype is recognised by its source only.
    """
    kind, is_fuse = mount.kind.removeprefix("fuse."), mount.kind.startswith("fuse")
    for name, storage in storages().items():
        if kind in storage.types or (magic and magic in storage.magics):
            return name
        if is_fuse and mount.source.startswith(storage.sources):
            return name
    return next(name for name, storage in storages().items() if not storage.types)


def read_mounts(host: Host) -> tuple[Mount, ...]:
    """Return the mounts in mount order; a later one hides an earlier one at the same path."""
    mounts = []
    for line in (host.read_text("/proc/self/mounts") or "").splitlines():
        fields = line.split(" ")
        if len(fields) >= 4:
            mounts.append(Mount(_plain(fields[1]), fields[2], _plain(fields[0]), tuple(fields[3].split(","))))
    return tuple(mounts)


def holding(mounts: tuple[Mount, ...], real_path: str) -> Mount | None:
    """Return the mount that holds a path without symbolic links."""
    candidates = [
        mount
        for mount in mounts
        if real_path == mount.point or real_path.startswith(mount.point.rstrip("/") + "/")
    ]
    return max(reversed(candidates), key=lambda mount: len(mount.point), default=None)


def _plain(word: str) -> str:
    """Decode blanks, tabs, newlines and backslashes, which are written in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


_NO_ATIME_OPTIONS = ("noatime", "ro")  # mount options under which reading does not change times


def read_storage(host: Host, path: str, mounts: tuple[Mount, ...]) -> FileSystem | None:
    """Return the file system that holds a path; None if no mount does."""
    mount = holding(mounts, host.real_path(path))
    if mount is None:
        return None
    name = recognise(mount)
    if not storages()[name].types and mount.kind.startswith("fuse"):
        name = recognise(mount, _magic(host, path))
    storage = storages()[name]
    facts = storage.read(host, mount, path)
    space = host.space(path) or Space(0, 0)
    return FileSystem(
        path=path,
        mount_point=mount.point,
        kind=name if storage.types else mount.kind,
        size_bytes=space.size_bytes,
        free_bytes=space.free_bytes,
        is_network=storage.is_network or (mount.kind.removeprefix("fuse.") in _REMOTE),
        mount_type=mount.kind,
        targets=facts.targets,
        metadata_servers=facts.metadata_servers,
        default_layout=facts.default_layout,
        layout_limits=facts.limits,
        quota_free_bytes=facts.quota_free_bytes,
        locks=facts.locks,
        reads_change_times=not set(_NO_ATIME_OPTIONS) & set(mount.options),
        is_writable="ro" not in mount.options,
    )


def layouts_of(host: Host, paths: Sequence[str]) -> dict[str, FileLayout]:
    """Return the layouts by path of the files that exist and have a layout."""
    mounts = read_mounts(host)
    layouts = {}
    for path in paths:
        mount = holding(mounts, host.real_path(path))
        layout = storages()[recognise(mount)].layout(host, path) if mount and host.is_file(path) else None
        if layout:
            layouts[path] = layout
    return layouts


# Network file systems without a module here; users cannot set layouts on them.
_REMOTE = frozenset(
    {"cifs", "smb3", "afs", "9p", "virtiofs", "panfs", "wekafs", "orangefs", "pvfs2", "daos", "glusterfs"}
    | {"sshfs", "cvmfs"}
)


def _magic(host: Host, path: str) -> int:
    """Return f_type of statfs(2), 0 if it cannot be read."""
    answer = host.run(["stat", "-f", "-c", "%t", path], timeout_s=QUESTION_S, working_directory=HERE)
    try:
        return int(answer.stdout, 16) if answer.status == 0 else 0
    except ValueError:
        return 0


ANY = "ufs"  # driver of ROMIO and OMPIO for any POSIX file system


def served_by(kind: str, drivers: Collection[str]) -> str | None:
    """Return the driver for a kind of file system, else the general one; None if neither is available.

    The general driver does not support layouts: it accepts `striping_factor` and ignores it.
    """
    special = storages()[kind].drivers if kind in storages() else ()
    return next((name for name in (*special, ANY) if name in drivers), None)
