"""NFS: one server, or several with pNFS; the server chooses the location of a file.

Mount options as in nfs(5).
"""

from mpiric.host.host import Host
from mpiric.model.storage import Mount, StorageFacts
from mpiric.storage._storage import Storage


def _read(_host: Host, mount: Mount, _path: str) -> StorageFacts:
    options = dict(option.partition("=")[::2] for option in mount.options)
    return StorageFacts(targets=1, metadata_servers=1, locks=_locks(options))


def _locks(options: dict[str, str]) -> str:
    """Return the scope of file locks; `nolock` and `local_lock` keep locks on the client."""
    if "nolock" in options or options.get("local_lock", "none") in {"all", "flock"}:
        return "this node"
    return "all nodes"


STORAGE = Storage(title="NFS", types=("nfs", "nfs4"), magics=(0x6969,), drivers=("nfs",), read=_read)
