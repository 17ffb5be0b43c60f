"""Names of hosts on other networks: kp001 may be kp001.ipoib on InfiniBand.

Sites form the name of a host on another network from its plain name and a word. The resolver is queried for
candidate names, and the kernel's routes give the network of an address.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.model.dataclass import dataclass
from mpiric.model.job import Job
from mpiric.model.machine import Nic
from mpiric.model.situation import HostNames

_WORDS = ("ipoib", "ib", "ib0", "opa", "hsn", "hsn0", "roce", "fast", "10g")
_JOINS = ("{host}-{word}", "{host}.{word}", "{word}-{host}", "{host}{word}")
_HEX = re.compile(r"[0-9A-Fa-f]{8}").fullmatch  # address in /proc/net/route
_PATIENCE_S = 5.0  # time limit for a resolver that does not answer
_RESOLVE = """
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def address(name):
    try:
        return socket.getaddrinfo(name, None, socket.AF_INET)[0][4][0]
    except OSError:
        return "-"
with ThreadPoolExecutor(32) as pool:
    print(*pool.map(address, sys.argv[1:]))
"""

Routes = Sequence[tuple[int, int, str]]  # destination, mask, interface


@dataclass(frozen=True)
class Renaming:
    """Change of a name: prefix and suffix to remove, prefix and suffix to add."""

    less: tuple[str, str] = ("", "")
    more: tuple[str, str] = ("", "")

    def __call__(self, name: str) -> str:
        """Return the changed name."""
        plain = name.removeprefix(self.less[0]).removesuffix(self.less[1])
        return f"{self.more[0]}{plain}{self.more[1]}"


def host_names(job: Job, nics: Sequence[Nic], host: Host) -> HostNames:
    """Return the names of a launch line's hosts; other names only if each host has one of the same form."""
    names = [host_entry.name for host_entry in launchers.named_hosts(job)]
    interfaces = [nic.name for nic in nics if nic.up and nic.addresses and nic.kind != "loopback"]
    if not names or launchers.dialects()[job.dialect].has_scheduler_names or len(interfaces) < 2:
        return HostNames()
    routes = _routes(host.read_text("/proc/net/route") or "")
    renamings = {renaming(names[0]): renaming for renaming in _renamings(names[0], interfaces)}
    first = _networks(host, [names[0], *renamings], routes)
    by_interface: dict[str, Mapping[str, str]] = {}
    for name, renaming in renamings.items():
        network = first.get(name, "")
        if network not in interfaces or network in (first.get(names[0]), *by_interface):
            continue
        renamed = {old: renaming(old) for old in names}
        if set(_networks(host, tuple(renamed.values()), routes).values()) == {network}:
            by_interface[network] = renamed
    return HostNames(first.get(names[0], ""), by_interface)


def _renamings(name: str, interfaces: Iterable[str]) -> Iterator[Renaming]:
    """Yield changes to the plain name, and from it to possible other names; domains may differ."""
    parts = [_around(join, word) for word in (*interfaces, *_WORDS) for join in _JOINS]
    domain = "." + name.partition(".")[2]
    removable = [(before, after) for before, after in (*parts, ("", domain)) if _fits(name, before, after)]
    for less in (("", ""), *removable):
        yield Renaming(less)
        yield from (Renaming(less, more) for more in parts)


def _around(join: str, word: str) -> tuple[str, str]:
    before, _, after = join.format(host=" ", word=word).partition(" ")
    return before, after


def _fits(name: str, before: str, after: str) -> bool:
    return len(name) > len(before + after) and name.startswith(before) and name.endswith(after)


def _networks(host: Host, names: Sequence[str], routes: Routes) -> dict[str, str]:
    """Return the interface on the network of each name's address; "" for names without one."""
    answers = host.run([host.python, "-I", "-c", _RESOLVE, *names], timeout_s=_PATIENCE_S).stdout.split()
    return {
        name: "" if address == "-" else _network(address, routes)
        for name, address in zip(names, answers, strict=False)
    }


def _routes(table: str) -> Routes:
    """Return the routes to directly connected networks, the narrowest first; from /proc/net/route."""
    rows = [line.split() for line in table.splitlines()[1:]]
    complete = [row for row in rows if len(row) > 7 and all(_HEX(row[column]) for column in (1, 2, 7))]
    direct = [row for row in complete if not int(row[2], 16)]
    return sorted(((_number(row[1]), _number(row[7]), row[0]) for row in direct), key=lambda r: -r[1])


def _number(text: str) -> int:
    """Convert an address, which the kernel prints as a number in the machine's byte order."""
    return int.from_bytes(bytes.fromhex(text), sys.byteorder)


def _network(address: str, routes: Routes) -> str:
    try:
        number = int(IPv4Address(address))
    except ValueError:  # unexpected output of the resolver
        return ""
    return next((name for network, mask, name in routes if mask and number & mask == network), "")
