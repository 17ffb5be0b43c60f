"""The lab's file system on every host of a cluster: a client process each, at the same path."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.lab import cluster
from tests.lab.errors import LabError

_PATIENCE_S = 10.0


@contextmanager
def mounted_on(
    directory: Path, hosts: Sequence[str], program: Path, state: Path, mount: Path, *settings: str
) -> Iterator[None]:
    """Mount the file system on some hosts in ``directory`` during the context.

    ``state`` and ``mount`` are in a directory that the hosts share; ``settings`` are passed to `client`.
    """
    command = [str(program), str(state), str(mount), *settings]
    clients = [subprocess.Popen(cluster.command_line(directory, host, command)) for host in hosts]
    try:
        for host in hosts:
            _wait(directory, host, mount)
        yield
    finally:
        for host in hosts:
            cluster.run(directory, host, ["fusermount3", "-u", "-z", str(mount)])
        for client in clients:
            client.terminate()
            client.wait(_PATIENCE_S)


def _wait(directory: Path, host: str, mount: Path) -> None:
    end = time.monotonic() + _PATIENCE_S
    while cluster.run(directory, host, ["mountpoint", "-q", str(mount)]).returncode != 0:
        if time.monotonic() > end:
            raise LabError(f"the lab's file system cannot be mounted on {host}", hint="FUSE needs /dev/fuse")
        time.sleep(0.05)
