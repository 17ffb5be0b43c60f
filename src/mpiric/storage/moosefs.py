"""MooseFS: complete chunks of 64 MiB are replicated on several servers; files are not striped.

See https://docs.moosefs.com. A mount without a subtype has the type `fuse` and the source `mfs#master:port`.
"""

from mpiric.host.host import HERE, Host
from mpiric.model.storage import Mount, StorageFacts
from mpiric.storage._storage import QUESTION_S, Storage


def _read(host: Host, mount: Mount, _path: str) -> StorageFacts:
    """Return the number of chunk servers, from `mfscli -SCS` on the master that the source names."""
    master, _, port = mount.source.removeprefix("mfs#").partition(":")
    command = ["mfscli", "-ns|", "-H", master, "-P", port.split("/")[0] or "9421", "-SCS"]
    answer = host.run(command, timeout_s=QUESTION_S, working_directory=HERE)
    servers = [line for line in answer.stdout.splitlines() if line.startswith("chunk servers|")]
    return StorageFacts(targets=len(servers) or None, metadata_servers=1, locks="all nodes")


STORAGE = Storage(title="MooseFS", types=("mfs", "moosefs"), sources=("mfs#", "mfsmaster"), read=_read)
