"""Search for files by shell patterns, and for libraries in the cache of the dynamic linker."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from mpiric.host.host import Host


def matching(host: Host, pattern: str) -> Iterator[str]:
    """Yield the paths that match an absolute shell pattern, ascending; ``*`` does not match ``/``."""
    head, *parts = pattern.split("/")
    yield from _below(host, head, parts)


def _below(host: Host, directory: str, parts: list[str]) -> Iterator[str]:
    if not parts:
        yield directory
        return
    part, *later_parts = parts
    path = f"{directory}/{part}"
    if any(mark in part for mark in "*?["):
        for name in host.list_dir(directory or "/"):
            if fnmatchcase(name, part) and not name.startswith("."):
                yield from _below(host, f"{directory}/{name}", later_parts)
    elif later_parts or host.is_file(path) or host.list_dir(path):
        yield from _below(host, path, later_parts)


def linker_cache(host: Host) -> tuple[tuple[str, str], ...]:
    """Return (library name, path) pairs of ``ldconfig -p``, which needs no privileges."""
    command = host.which("ldconfig") or "/sbin/ldconfig"  # users on Debian do not have sbin in PATH
    entries = re.findall(
        r"^\s+(\S+) \(.*\) => (\S+)$",
        host.run_cached([command, "-p"], ["/etc/ld.so.cache"]).stdout,
        re.MULTILINE,
    )
    return tuple((name, path) for name, path in entries)
