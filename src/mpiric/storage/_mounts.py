"""The mount table."""

import re

from mpiric.host.host import Host
from mpiric.model.storage import Mount


def read_mounts(host: Host) -> tuple[Mount, ...]:
    """Mounts in the order mounted; a later one hides an earlier one at the same path."""
    found = []
    for line in (host.read_text("/proc/self/mounts") or "").splitlines():
        words = line.split(" ")
        if len(words) >= 4:
            found.append(Mount(_plain(words[1]), words[2], _plain(words[0]), tuple(words[3].split(","))))
    return tuple(found)


def holding(mounts: tuple[Mount, ...], real_path: str) -> Mount | None:
    """The mount that holds a path whose links are resolved."""
    above = [
        mount
        for mount in mounts
        if real_path == mount.point or real_path.startswith(mount.point.rstrip("/") + "/")
    ]
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)


def _plain(word: str) -> str:
    """Blanks, tabs, newlines and backslashes stand in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)
