"""Host → file system under a path."""

from collections.abc import Sequence

from mpiric.host.host import HERE, Host, Space
from mpiric.model.machine import FileSystem
from mpiric.model.storage import FileLayout, Mount
from mpiric.storage._mounts import holding, read_mounts
from mpiric.storage._storage import QUESTION_S, recognise, storages

_DEAF = ("noatime", "ro")  # mount options under which reading does not write


def read_storage(host: Host, path: str, mounts: tuple[Mount, ...]) -> FileSystem | None:
    """The file system that holds a path; None when no mount does."""
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
        reads_change_times=not set(_DEAF) & set(mount.options),
        is_writable="ro" not in mount.options,
    )


def layouts_of(host: Host, paths: Sequence[str]) -> dict[str, FileLayout]:
    """Layouts of files by path, of those that are there and have one."""
    mounts = read_mounts(host)
    found = {}
    for path in paths:
        mount = holding(mounts, host.real_path(path))
        layout = storages()[recognise(mount)].layout(host, path) if mount and host.is_file(path) else None
        if layout:
            found[path] = layout
    return found


# Kinds served over a network that have no file here: they have no layouts a user could set.
_REMOTE = frozenset(
    {"cifs", "smb3", "afs", "9p", "virtiofs", "panfs", "wekafs", "orangefs", "pvfs2", "daos", "glusterfs"}
    | {"sshfs", "cvmfs"}
)


def _is_remote(kind: str) -> bool:
    return kind.removeprefix("fuse.") in _REMOTE


def _magic(host: Host, path: str) -> int:
    """f_type of statfs(2), 0 when it cannot be asked."""
    answer = host.run(["stat", "-f", "-c", "%t", path], timeout_s=QUESTION_S, working_directory=HERE)
    try:
        return int(answer.stdout, 16) if answer.status == 0 else 0
    except ValueError:
        return 0
