"""File systems of the directories that matter to a run."""

from mpiric.host.host import Host
from mpiric.model.machine import FileSystem
from mpiric.storage import read_mounts, read_storage

_SCRATCH = ("SCRATCH", "WORK", "PROJECT", "TMPDIR")


def read_file_systems(host: Host, working_directory: str) -> tuple[FileSystem, ...]:
    """Return the file systems of the working directory, home, scratch, /tmp and /dev/shm, each once."""
    directories = [host.environ.get(name, "") for name in ("HOME", *_SCRATCH)]
    mounts = read_mounts(host)
    file_systems: dict[str, FileSystem] = {}
    for path in [working_directory, *directories, "/tmp", "/dev/shm"]:  # noqa: S108 read, not written to
        if path.startswith("/"):
            entry = read_storage(host, path, mounts)
            if entry is not None:
                file_systems.setdefault(entry.mount_point, entry)
    return tuple(file_systems.values())
