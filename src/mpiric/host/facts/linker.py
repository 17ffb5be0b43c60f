"""Libraries in the cache of the dynamic linker."""

import re

from mpiric.host.host import Host


def linker_cache(host: Host) -> tuple[tuple[str, str], ...]:
    """Return (library name, path) pairs of ``ldconfig -p``, which needs no privileges."""
    command = host.which("ldconfig") or "/sbin/ldconfig"  # users on Debian do not have sbin in PATH
    entries = re.findall(
        r"^\s+(\S+) \(.*\) => (\S+)$",
        host.run_cached([command, "-p"], ["/etc/ld.so.cache"]).stdout,
        re.MULTILINE,
    )
    return tuple((name, path) for name, path in entries)
