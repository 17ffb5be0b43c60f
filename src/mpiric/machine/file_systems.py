"""File systems under the directories that matter to a run."""

from mpiric.host.host import Host
from mpiric.model.machine import FileSystem
from mpiric.storage import read_mounts, read_storage

_SCRATCH = ("SCRATCH", "WORK", "PROJECT", "TMPDIR")


def read_file_systems(host: Host, working_directory: str) -> tuple[FileSystem, ...]:
    """File systems of the working directory, home, the site's scratch, /tmp and /dev/shm, each once."""
    named = [host.environ.get(name, "") for name in ("HOME", *_SCRATCH)]
    mounts = read_mounts(host)
    found: dict[str, FileSystem] = {}
    for path in [working_directory, *named, "/tmp", "/dev/shm"]:  # noqa: S108 named, not written to
        if path.startswith("/"):
            entry = read_storage(host, path, mounts)
            if entry is not None:
                found.setdefault(entry.mount_point, entry)
    return tuple(found.values())
