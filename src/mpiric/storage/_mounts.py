"""The mount table."""

import re

from mpiric.host.host import Host
from mpiric.model.storage import Mount


def read_mounts(host: Host) -> tuple[Mount, ...]:
    """Return the mounts in mount order; a later one hides an earlier one at the same path."""
    mounts = []
    for line in (host.read_text("/proc/self/mounts") or "").splitlines():
        fields = line.split(" ")
        if len(fields) >= 4:
            mounts.append(Mount(_plain(fields[1]), fields[2], _plain(fields[0]), tuple(fields[3].split(","))))
    return tuple(mounts)


def holding(mounts: tuple[Mount, ...], real_path: str) -> Mount | None:
    """Return the mount that holds a path without symbolic links."""
    candidates = [
        mount
        for mount in mounts
        if real_path == mount.point or real_path.startswith(mount.point.rstrip("/") + "/")
    ]
    return max(reversed(candidates), key=lambda mount: len(mount.point), default=None)


def _plain(word: str) -> str:
    """Decode blanks, tabs, newlines and backslashes, which are written in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)
