"""What hosts are called on their other networks: kp001 is kp001.ipoib on InfiniBand's.

Sites name the address of a host on a further network by its plain name and a word. Which word is found by
asking the resolver, and which network an address is on by the kernel's routes.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.model.job import Job
from mpiric.model.machine import Nic
from mpiric.model.situation import HostNames

_WORDS = ("ipoib", "ib", "ib0", "opa", "hsn", "hsn0", "roce", "fast", "10g")
_JOINS = ("{host}-{word}", "{host}.{word}", "{word}-{host}", "{host}{word}")
_HEX = re.compile(r"[0-9A-Fa-f]{8}").fullmatch  # an address in /proc/net/route
_PATIENCE_S = 5.0  # with a resolver that does not answer
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
    """What is taken away in front and behind, and what is put there."""

    less: tuple[str, str] = ("", "")
    more: tuple[str, str] = ("", "")

    def __call__(self, name: str) -> str:
        """The other name."""
        plain = name.removeprefix(self.less[0]).removesuffix(self.less[1])
        return f"{self.more[0]}{plain}{self.more[1]}"


def host_names(job: Job, nics: Sequence[Nic], host: Host) -> HostNames:
    """Names of a launch line's hosts; other names where each host has one of the same form."""
    names = [host_entry.name for host_entry in launchers.named_hosts(job)]
    interfaces = [nic.name for nic in nics if nic.up and nic.addresses and nic.kind != "loopback"]
    if not names or launchers.dialects()[job.dialect].has_scheduler_names or len(interfaces) < 2:
        return HostNames()
    routes = _routes(host.read_text("/proc/net/route") or "")
    renamings = {renaming(names[0]): renaming for renaming in _renamings(names[0], interfaces)}
    first = _networks(host, [names[0], *renamings], routes)
    found: dict[str, Mapping[str, str]] = {}
    for name, renaming in renamings.items():
        network = first.get(name, "")
        if network not in interfaces or network in (first.get(names[0]), *found):
            continue
        renamed = {old: renaming(old) for old in names}
        if set(_networks(host, tuple(renamed.values()), routes).values()) == {network}:
            found[network] = renamed
    return HostNames(first.get(names[0], ""), found)


def _renamings(name: str, interfaces: Iterable[str]) -> Iterator[Renaming]:
    """Renamings to the plain name, and from it to what a host may be called elsewhere; domains can differ."""
    parts = [_around(join, word) for word in (*interfaces, *_WORDS) for join in _JOINS]
    domain = "." + name.partition(".")[2]
    taken = [(before, after) for before, after in (*parts, ("", domain)) if _fits(name, before, after)]
    for less in (("", ""), *taken):
        yield Renaming(less)
        yield from (Renaming(less, more) for more in parts)


def _around(join: str, word: str) -> tuple[str, str]:
    before, _, after = join.format(host=" ", word=word).partition(" ")
    return before, after


def _fits(name: str, before: str, after: str) -> bool:
    return len(name) > len(before + after) and name.startswith(before) and name.endswith(after)


def _networks(host: Host, names: Sequence[str], routes: Routes) -> dict[str, str]:
    """Name → interface on the network of its address; "" for names without one."""
    answers = host.run([host.python, "-I", "-c", _RESOLVE, *names], timeout_s=_PATIENCE_S).stdout.split()
    return {
        name: "" if address == "-" else _network(address, routes)
        for name, address in zip(names, answers, strict=False)
    }


def _routes(table: str) -> Routes:
    """Routes to the networks this host is on itself, the narrowest first; from /proc/net/route."""
    rows = [line.split() for line in table.splitlines()[1:]]
    complete = [row for row in rows if len(row) > 7 and all(_HEX(row[column]) for column in (1, 2, 7))]
    direct = [row for row in complete if not int(row[2], 16)]
    return sorted(((_number(row[1]), _number(row[7]), row[0]) for row in direct), key=lambda r: -r[1])


def _number(text: str) -> int:
    """The kernel prints an address as a number of the machine's byte order."""
    return int.from_bytes(bytes.fromhex(text), sys.byteorder)


def _network(address: str, routes: Routes) -> str:
    try:
        number = int(IPv4Address(address))
    except ValueError:  # not what the resolver prints
        return ""
    return next((name for network, mask, name in routes if mask and number & mask == network), "")
