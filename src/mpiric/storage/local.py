"""Disks and memory of one node, and all other file systems of the kernel: layouts cannot be set."""

from mpiric.host.host import Host
from mpiric.model.storage import Mount, StorageFacts
from mpiric.storage._storage import Storage


def _read(_host: Host, _mount: Mount, _path: str) -> StorageFacts:
    return StorageFacts(locks="this node")


STORAGE = Storage(title="local", types=(), is_network=False, read=_read)
