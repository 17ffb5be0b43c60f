"""File systems under the directories that matter to a run."""

import re

from mpiric.host.host import Host, Space
from mpiric.model.machine import FileSystem

# Kinds served over a network, so that small files and locks cost more there.
NETWORK_KINDS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "afs", "9p", "virtiofs", "lustre", "gpfs", "beegfs", "panfs", "wekafs"}
    | {"orangefs", "pvfs2", "daos", "fuse.daos", "ceph", "fuse.ceph", "glusterfs", "fuse.glusterfs"}
    | {"fuse.sshfs", "cvmfs", "fuse.cvmfs"}
)
_SCRATCH = ("SCRATCH", "WORK", "PROJECT", "TMPDIR")


def read_file_systems(host: Host, working_directory: str) -> tuple[FileSystem, ...]:
    """File systems of the working directory, home, the site's scratch, /tmp and /dev/shm, each once."""
    named = [host.environ.get(name, "") for name in ("HOME", *_SCRATCH)]
    mounts = _mounts(host)
    found: dict[str, FileSystem] = {}
    for path in [working_directory, *named, "/tmp", "/dev/shm"]:  # noqa: S108 named, not written to
        if path.startswith("/"):
            entry = _under(host, path, mounts)
            if entry is not None:
                found.setdefault(entry.mount_point, entry)
    return tuple(found.values())


def _mounts(host: Host) -> tuple[tuple[str, str], ...]:
    """Mount point and kind in the order mounted; a later one hides an earlier one at the same path."""
    entries = []
    for line in (host.read_text("/proc/self/mounts") or "").splitlines():
        words = line.split()
        if len(words) >= 3:
            # Blanks and tabs stand there in octal.
            point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), words[1])
            entries.append((point, words[2]))
    return tuple(entries)


def _under(host: Host, path: str, mounts: tuple[tuple[str, str], ...]) -> FileSystem | None:
    real = host.real_path(path)
    holding = [
        (point, kind) for point, kind in mounts if real == point or real.startswith(point.rstrip("/") + "/")
    ]
    if not holding:
        return None
    longest = max(len(point) for point, _ in holding)
    point, kind = [entry for entry in holding if len(entry[0]) == longest][-1]
    space = host.space(path) or Space(0, 0)
    return FileSystem(path, point, kind, space.size_bytes, space.free_bytes, kind in NETWORK_KINDS)
