"""What the dynamic linker finds by itself."""

import re

from mpiric.host.host import Host


def linker_cache(host: Host) -> tuple[tuple[str, str], ...]:
    """Library name and path, as ``ldconfig -p`` lists them; readable without privileges."""
    command = host.which("ldconfig") or "/sbin/ldconfig"  # Debian's users have no sbin on PATH
    entries = re.findall(
        r"^\s+(\S+) \(.*\) => (\S+)$",
        host.run_cached([command, "-p"], ["/etc/ld.so.cache"]).stdout,
        re.MULTILINE,
    )
    return tuple((name, path) for name, path in entries)
