"""Files that a killed run has left on the disk of its node, brought to their places.

In the place of each stands a link to `DIRECTORY/mpiric-local-USER/HOST.PID-NONCE.NUMBER`, which the runtime
makes (`src/runtime/files/node_local`). Interrupted, it is begun again: the link stays until a whole copy is
beside it.
"""

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TARGET = re.compile(r"/.*/mpiric-local-\d+/(?P<id>(?P<host>.+)\.(?P<pid>\d+)-[0-9a-f]{8}\.\d+)")
_BESIDE = (".mpiric-copy.", ".mpiric-wish.")  # of the runtime's and of this module's


@dataclass(frozen=True)
class NodeFile:
    """A file's own place, the path on its node's disk, and what the link's name says of its maker."""

    own: Path
    local: Path
    name: str
    host: str
    pid: int

    @property
    def still_made(self) -> bool:
        """Whether the process that made it runs on this node."""
        return self.host == socket.gethostname() and Path(f"/proc/{self.pid}").exists()


def files_on_nodes(directory: Path) -> Iterator[NodeFile]:
    """Files below a directory in whose place a link of the runtime's stands."""
    for root, _, names in os.walk(directory):
        for name in names:
            path = Path(root) / name
            found = _TARGET.fullmatch(str(path.readlink())) if path.is_symlink() else None
            if found:
                yield NodeFile(path, Path(found[0]), found["id"], found["host"], int(found["pid"]))


def bring(file: NodeFile) -> str:
    """Why a file stays where it is, "" where it was brought to its place."""
    if file.still_made:
        return "the program that writes it still runs"
    if not file.local.is_file():
        return f"its bytes lie on the node {file.host}, in {file.local}: gather there"
    copy = file.own.with_name(_BESIDE[0] + file.name)
    try:
        shutil.copy2(file.local, copy)
        with copy.open("rb") as written:
            os.fsync(written.fileno())
        copy.replace(file.own)
    except OSError as error:
        copy.unlink(missing_ok=True)
        return error.strerror or str(error)
    with suppress(OSError):
        file.local.unlink()
        file.local.parent.rmdir()
    for what in _BESIDE:
        file.own.with_name(what + file.name).unlink(missing_ok=True)
    return ""
