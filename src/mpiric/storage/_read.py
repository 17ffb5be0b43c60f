"""Host → file system under a path."""

from collections.abc import Sequence

from mpiric.host.host import HERE, Host, Space
from mpiric.model.machine import FileSystem
from mpiric.model.storage import FileLayout, Mount
from mpiric.storage._mounts import holding, read_mounts
from mpiric.storage._storage import QUESTION_S, recognise, storages

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
        is_network=storage.is_network or _is_remote(mount.kind),
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


def _is_remote(kind: str) -> bool:
    return kind.removeprefix("fuse.") in _REMOTE


def _magic(host: Host, path: str) -> int:
    """Return f_type of statfs(2), 0 if it cannot be read."""
    answer = host.run(["stat", "-f", "-c", "%t", path], timeout_s=QUESTION_S, working_directory=HERE)
    try:
        return int(answer.stdout, 16) if answer.status == 0 else 0
    except ValueError:
        return 0
